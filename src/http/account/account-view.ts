import type { FastifyInstance } from 'fastify'
import { type Account, accountName } from '../../accounts/account-store.ts'
import type { HoldStore } from '../../billing/holds/hold-store.ts'
import { MAIL_PREFERENCES, type MailPreference } from '../../core/accounts/mail-preference.ts'
import { isPermitted, type MemberRole, PERMISSIONS } from '../../core/accounts/member-permissions.ts'
import { jsonView } from '../../core/api/json-view.ts'
import { type ActableAccount, BalanceView, PersonView, type SessionView } from '../../core/api/sessions.ts'
import { formatUsdOrNull } from '../../core/kernel/money.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { type ActingSession, notSignedIn } from '../plugins/session.ts'

type BalanceReader = Pick<HoldStore, 'balance'>

export type ActingPerson = Pick<ActingSession, 'person' | 'account' | 'role'>

/** The signed-in person, the session's account, and its money. Throws ApiError if the account was just suspended. */
export async function sessionView(
  { person, account, role }: ActingPerson,
  app: Pick<FastifyInstance, 'accounts' | 'billing'>,
): Promise<SessionView> {
  const [organisations, balance, freeCreditPico, freeCredit] = await Promise.all([
    app.accounts.members.organisationsOf(person.id),
    balanceView(account, app.billing.holds),
    app.billing.ledger.freeCredit(account.id),
    app.accounts.freeCredits.find(account.id),
  ])
  const { state } = account
  if (state === 'suspended') throw notSignedIn()
  return {
    person: jsonView(PersonView, {
      ...person,
      emailVerified: person.emailVerifiedAt !== null,
      mails: mailsView(person),
    }),
    account: {
      ...actable(account, role),
      state,
      free_credit_usd: formatUsdOrNull(freeCreditPico),
      free_credit: freeCredit,
      created_at: isoTime(account.createdAt),
    },
    permissions: PERMISSIONS.filter((permission) => isPermitted(role, permission)),
    accounts: [
      actable(person, 'owner'),
      ...organisations.map((membership) => actable(membership.account, membership.role)),
    ],
    balance,
  }
}

const actable = (account: Account, role: MemberRole): ActableAccount => ({
  id: account.id,
  name: accountName(account),
  is_organisation: account.email === null,
  role,
})

const mailsView = ({ mutedMails, weeklyMail }: Account) =>
  Object.fromEntries([
    ...MAIL_PREFERENCES.map((kind) => [kind, !mutedMails.includes(kind)]),
    ['weekly_spend', weeklyMail],
  ]) as Record<MailPreference, boolean>

/**
 * The balance in the ledger, and the spendable part in the balance cache. If Redis does not have the balance cache, or
 * is away, no holds are known.
 */
export async function balanceView(account: Account, holds: BalanceReader): Promise<BalanceView> {
  const balance = await holds.balance(account.id).catch(() => null)
  const availPico = balance?.availPico ?? account.balancePico
  return jsonView(BalanceView, {
    ...account,
    availablePico: availPico < 0n ? 0n : availPico,
    heldPico: balance?.heldPico ?? 0n,
  })
}
