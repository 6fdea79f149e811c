import { isPermitted } from '../../core/accounts/member-permissions.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { MailJob } from '../../platform/queues/queues.ts'
import type { MemberStore } from '../organisation/member-store.ts'

/** A stored BYOK key, and the person or API key that stored it. */
export interface AddedByokKey {
  accountId: string
  providerKeyId: string
  by: string
}

/**
 * Mails the managers of an account's BYOK keys that one was added, because prompts are now sent to the account of its
 * owner at the provider. The key is stored and recorded already, so a failure is only logged.
 */
export type MailByokKeyAdded = (added: AddedByokKey) => Promise<void>

/** Maximum per day, so that repeated additions do not fill a mailbox. */
const MAILED_PER_DAY_MAX = 20

export function createByokKeyMail(deps: {
  postgres: Pick<Postgres, 'accountAction'>
  members: Pick<MemberStore, 'list'>
  /** Null if there is no mail. */
  enqueue: ((jobs: readonly MailJob[]) => Promise<void>) | null
  clock: () => number
  logger: Logger
}): MailByokKeyAdded {
  const { postgres, members, enqueue, clock, logger } = deps

  const mayMail = async (accountId: string): Promise<boolean> => {
    const createdAt = { gt: new Date(clock() - DAY_MS) }
    const where = { accountId, action: 'provider_key.added', createdAt }
    return (await postgres.accountAction.count({ where })) <= MAILED_PER_DAY_MAX
  }

  return async ({ accountId, providerKeyId, by }) => {
    if (!enqueue) return
    try {
      if (!(await mayMail(accountId))) return
      const managers = (await members.list(accountId)).filter(({ role }) => isPermitted(role, 'integrations'))
      // The holder of a personal account is not a member of it.
      const recipients = managers.length === 0 ? [accountId] : managers.map(({ personId }) => personId)
      await enqueue(
        recipients.map((recipient) => ({
          ...{ kind: 'provider_key_added' as const, accountId: recipient, providerKeyId, by },
        })),
      )
    } catch (error) {
      logger.warn({ err: error, accountId, providerKeyId }, 'mail about an added BYOK key not enqueued')
    }
  }
}
