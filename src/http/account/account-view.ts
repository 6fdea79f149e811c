import type { Account } from '../../accounts/account-store.ts'
import type { FreeCredits } from '../../accounts/free-credit.ts'
import type { HoldStore } from '../../billing/holds/hold-store.ts'
import type { LedgerListStore } from '../../billing/ledger/ledger-list-store.ts'
import type { BalanceView, SessionView } from '../../core/api/sessions.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { MAIL_PREFERENCES, type MailPreference } from '../../core/operations/mail-preference.ts'
import { notSignedIn } from '../plugins/session.ts'

type BalanceReader = Pick<HoldStore, 'balance'>

export interface SessionViewServices {
  holds: BalanceReader
  ledger: Pick<LedgerListStore, 'freeCredit'>
  freeCredits: Pick<FreeCredits, 'find'>
}

/** An account and its money, as its holder sees them. Throws ApiError where it was suspended just now. */
export async function sessionView(account: Account, services: SessionViewServices): Promise<SessionView> {
  const [balance, freeCreditPico, freeCredit] = await Promise.all([
    balanceView(account, services.holds),
    services.ledger.freeCredit(account.id),
    services.freeCredits.find(account.id),
  ])
  const { state } = account
  if (state === 'suspended') throw notSignedIn()
  return {
    account: {
      id: account.id,
      email: account.email,
      state,
      free_credit_usd: freeCreditPico === null ? null : formatUsd(freeCreditPico),
      free_credit: freeCredit,
      email_verified: account.emailVerifiedAt !== null,
      mails: mailsView(account),
      created_at: isoTime(account.createdAt),
    },
    balance,
  }
}

const mailsView = ({ mutedMails }: Account) =>
  Object.fromEntries(MAIL_PREFERENCES.map((kind) => [kind, !mutedMails.includes(kind)])) as Record<
    MailPreference,
    boolean
  >

/**
 * The balance of the ledger, and what of it the balance cache lets be spent. Where Redis does not have the balance
 * cache, or is away, nothing is known to be held.
 */
export async function balanceView(account: Account, holds: BalanceReader): Promise<BalanceView> {
  const balance = await holds.balance(account.id).catch(() => null)
  const availPico = balance?.availPico ?? account.balancePico
  return {
    balance_usd: formatUsd(account.balancePico),
    available_usd: formatUsd(availPico < 0n ? 0n : availPico),
    held_usd: formatUsd(balance?.heldPico ?? 0n),
    owed_usd: formatUsd(account.owedPico),
    low_balance_usd: account.lowBalancePico === null ? null : formatUsd(account.lowBalancePico),
  }
}
