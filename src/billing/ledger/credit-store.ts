import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { HoldStore } from '../holds/hold-store.ts'

/** Where the money of an account is, in pico-USD. */
export interface AccountCredits {
  /** All that was ever credited or paid in, less what was taken back. */
  totalCreditsPico: bigint
  /** All that was charged. Credits less usage are the balance of the ledger. */
  totalUsagePico: bigint
  /** What can be spent now: the balance less what open calls hold. */
  availablePico: bigint
}

export type CreditStore = ReturnType<typeof createCreditStore>

/**
 * One statement, so that both are of one snapshot. What is no charge has an index of its own, and charges are what
 * lies between it and the balance: no account's calls are summed.
 */
const CREDITS = `
SELECT account.balance_pico::text AS "balance", (
  SELECT coalesce(sum(entry.amount_pico), 0)::text
  FROM ledger_transactions AS transaction
  JOIN ledger_entries AS entry ON entry.transaction_id = transaction.id AND entry.kind = transaction.kind
    AND entry.ledger_account = 'customer:' || $1
  WHERE transaction.account_id = $1 AND transaction.kind <> 'capture'
) AS "credits"
FROM accounts AS account WHERE account.id = $1`

/** Credits and usage from the ledger, and what the balance cache lets be spent of them. */
export function createCreditStore(postgres: Postgres, holds: Pick<HoldStore, 'balance'>) {
  return {
    /** Null where there is no such account. Rejects while PostgreSQL is away. */
    async find(accountId: string): Promise<AccountCredits | null> {
      const [row] = await postgres.$queryRawUnsafe<Array<{ balance: string; credits: string }>>(
        CREDITS,
        accountId,
      )
      if (!row) return null
      const [balancePico, totalCreditsPico] = [BigInt(row.balance), BigInt(row.credits)]
      // Where Redis does not have the account, or is away, no call holds any of it.
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
