import type { Invite, SentInvitation } from '../accounts/account-invitation.ts'
import type { Account } from '../accounts/account-store.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { newId } from '../core/kernel/ids.ts'
import { type PicoUsd, picoUsd } from '../core/kernel/money.ts'
import type { AccountManagement } from './account-management.ts'
import type { Operator, RunAudited } from './audit-log.ts'

/** How operators open accounts for others, recorded in the audit log. Throws ApiError. */
export type AccountOpening = ReturnType<typeof createAccountOpening>

export function createAccountOpening(options: {
  accountManagement: Pick<AccountManagement, 'create' | 'credit' | 'find'>
  invite: Invite
  auditedAction: RunAudited
}) {
  const { accountManagement } = options

  /** Lets the holder of an account choose a password. */
  const invite = (operator: Operator, { id, email }: Account): Promise<SentInvitation> => {
    const action = { action: 'account.invite', target: id, details: {} }
    return options.auditedAction(operator, action, () => {
      if (email === null)
        throw new ApiError('invalid_request', 'An organisation has no sign-in of its own: its members do.')
      return options.invite({ id, email })
    })
  }

  return {
    invite,

    /** Opens an account, posts its starting credit, and invites its holder. */
    async open(
      operator: Operator,
      { email, creditPico, reason }: { email: string; creditPico: PicoUsd | null; reason?: string },
    ): Promise<{ account: Account; invitation: SentInvitation }> {
      const nothing = { kind: 'credit', amountPico: picoUsd(0n) } as const
      const { id } = await accountManagement.create(operator, email, nothing)
      if (creditPico !== null) await accountManagement.credit(operator, id, creditPico, newId('evt'), reason)
      const account = await accountManagement.find(id)
      return { account, invitation: await invite(operator, account) }
    },
  }
}
