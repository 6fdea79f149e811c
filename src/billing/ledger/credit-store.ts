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

/**
 * One statement, so that both are of one snapshot. Transactions that are not charges have an index, and charges are the
 * difference to the balance, so no calls are summed.
 */
const CREDITS = `
SELECT account.balance_pico::text AS "balance", (
  SELECT coalesce(sum(entry.amount_pico), 0)::text
  FROM ledger_transactions AS transaction
  JOIN ledger_entries AS entry ON entry.transaction_id = transaction.id AND entry.kind = transaction.kind
    AND entry.ledger_account = 'customer:' || $1
  WHERE transaction.account_id = $1 AND transaction.kind <> 'capture' AND transaction.kind <> 'carried_charges'
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
