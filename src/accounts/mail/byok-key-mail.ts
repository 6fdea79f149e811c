import { isPermitted } from '../../core/accounts/member-permissions.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { MailJob } from '../../platform/queues/queues.ts'
import type { MemberStore } from '../organisation/member-store.ts'

/** A BYOK key that was stored, and by whom: the id of a person or of an API key. */
export interface AddedByokKey {
  accountId: string
  providerKeyId: string
  by: string
}

/**
 * Mails those who manage the BYOK keys of an account that one was added: prompts go to its holder's account at the
 * provider from now on. It has been stored and recorded: a failure is logged.
 */
export type MailByokKeyAdded = (added: AddedByokKey) => Promise<void>

/** Of additions in a day, so that a key that is stored again and again fills no mailbox. */
const TOLD_PER_DAY_MAX = 20

export function createByokKeyMail(deps: {
  postgres: Pick<Postgres, 'accountAction'>
  members: Pick<MemberStore, 'list'>
  /** Null where there is no mail. */
  enqueue: ((jobs: readonly MailJob[]) => Promise<void>) | null
  clock: () => number
  logger: Logger
}): MailByokKeyAdded {
  const { postgres, members, enqueue, clock, logger } = deps

  const isTold = async (accountId: string): Promise<boolean> => {
    const createdAt = { gt: new Date(clock() - DAY_MS) }
    const where = { accountId, action: 'provider_key.added', createdAt }
    return (await postgres.accountAction.count({ where })) <= TOLD_PER_DAY_MAX
  }

  return async ({ accountId, providerKeyId, by }) => {
    if (!enqueue) return
    try {
      if (!(await isTold(accountId))) return
      const managers = (await members.list(accountId)).filter(({ role }) => isPermitted(role, 'integrations'))
      // The holder of a personal account is no member of it.
      const recipients = managers.length === 0 ? [accountId] : managers.map(({ personId }) => personId)
      await enqueue(
        recipients.map((recipient) => ({
          ...{ kind: 'provider_key_added' as const, accountId: recipient, providerKeyId, by },
        })),
      )
    } catch (error) {
      logger.warn(
        { err: error, accountId, providerKeyId },
        'mail about an added BYOK key could not be enqueued',
      )
    }
  }
}
