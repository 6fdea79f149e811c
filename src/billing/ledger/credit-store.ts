import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { HoldStore } from '../holds/hold-store.ts'

/** The totals of an account, in pico-USD. */
export interface AccountCredits {
  /** All credits and payments, less what was taken back. */
  totalCreditsPico: bigint
  /** All charges. Credits less usage are the balance of the ledger. */
  totalUsagePico: bigint
  /** The spendable amount: the balance less the holds of open calls. */
  availablePico: bigint
}

export type CreditStore = ReturnType<typeof createCreditStore>

/** One statement, so that both are of one snapshot. */
const CREDITS = `
SELECT account.balance_pico::text AS "balance", (
  SELECT coalesce(sum(amount_pico), 0)::text FROM ledger_totals
  WHERE account_id = $1 AND ledger_account = 'customer:' || $1 AND kind <> 'capture'
) AS "credits"
FROM accounts AS account WHERE account.id = $1`

/** Credits and usage from the ledger, and the spendable amount from the balance cache. */
export function createCreditStore(postgres: Postgres, holds: Pick<HoldStore, 'balance'>) {
  return {
    /** Null if the account does not exist. Rejects while PostgreSQL is away. */
    async find(accountId: string): Promise<AccountCredits | null> {
      const [row] = await postgres.$queryRawUnsafe<Array<{ balance: string; credits: string }>>(
        CREDITS,
        accountId,
      )
      if (!row) return null
      const [balancePico, totalCreditsPico] = [BigInt(row.balance), BigInt(row.credits)]
      // If Redis does not have the account, or is away, no call holds any of it.
      const balance = await holds.balance(accountId).catch(() => null)
      const availablePico = balance?.availPico ?? balancePico
      return {
        totalCreditsPico,
        totalUsagePico: totalCreditsPico - balancePico,
        availablePico: availablePico < 0n ? 0n : availablePico,
      }
    },
  }
}
