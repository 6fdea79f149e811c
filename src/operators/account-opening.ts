import type { HasHolder } from '../accounts/account-holder.ts'
import type { InvitationDelivery, Invite } from '../accounts/account-invitation.ts'
import type { Account } from '../accounts/account-store.ts'
import type { NewKey, StoredKey } from '../accounts/key-store.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { newId } from '../core/kernel/ids.ts'
import { type PicoUsd, picoUsd } from '../core/kernel/money.ts'
import type { AccountManagement } from './account-management.ts'
import type { Operator, RunAudited } from './audit-log.ts'
import type { KeyManagement } from './key-management.ts'

export type AccountOpening = ReturnType<typeof createAccountOpening>

/**
 * Opens accounts for customers, recorded in the audit log. Throws ApiError. A link or a key, which give access to an
 * account, are issued only before it has a holder: operators neither read prompts nor call with the keys of customers.
 */
export function createAccountOpening(options: {
  accountManagement: Pick<AccountManagement, 'create' | 'credit' | 'find'>
  keyManagement: Pick<KeyManagement, 'create'>
  hasHolder: HasHolder
  /** Messages reach their recipients, and operators do not see links. */
  isDelivered: boolean
  invite: Invite
  auditedAction: RunAudited
}) {
  const { accountManagement } = options

  /** Invites the holder of an account to choose a password: by mail, or by a returned link before there is a holder. */
  const invite = (operator: Operator, { id, email }: Account): Promise<InvitationDelivery> => {
    const action = { action: 'account.invite', target: id, details: {} }
    return options.auditedAction(operator, action, async () => {
      if (email === null)
        throw new ApiError('invalid_request', 'An organisation has no sign-in; its members sign in.')
      if (!options.isDelivered && (await options.hasHolder(id)))
        throw new ApiError(
          'conflict',
          'This account has a holder, and mail is not configured. To set a password, run `npm run admin -- account set-password` on the server.',
        )
      return options.invite({ id, email })
    })
  }

  return {
    invite,

    /** Issues a key of an account without a holder. The secret is returned only once. */
    async issueKey(
      operator: Operator,
      accountId: string,
      settings: NewKey,
    ): Promise<{ key: StoredKey; secret: string }> {
      if (await options.hasHolder(accountId))
        throw new ApiError(
          'conflict',
          'This account has a holder, who creates its keys. To create one, run `npm run admin -- key create` on the server.',
        )
      return options.keyManagement.create(operator, accountId, settings)
    },

    /** Opens an account, posts its starting credit, and invites its holder. */
    async open(
      operator: Operator,
      { email, creditPico, reason }: { email: string; creditPico: PicoUsd | null; reason?: string },
    ): Promise<{ account: Account; invitation: InvitationDelivery }> {
      const nothing = { kind: 'credit', amountPico: picoUsd(0n) } as const
      const { id } = await accountManagement.create(operator, email, nothing)
      if (creditPico !== null) await accountManagement.credit(operator, id, creditPico, newId('evt'), reason)
      const account = await accountManagement.find(id)
      return { account, invitation: await invite(operator, account) }
    },
  }
}
