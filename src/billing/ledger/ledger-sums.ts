import type { Postgres } from '../../platform/postgres/postgres.ts'

/** The sum of one ledger account, or of all that are customers' or receivables. Pico-USD. */
export interface LedgerSum {
  ledgerAccount: string
  accounts: number
  entries: number
  balancePico: bigint
}

const SUMS = `
WITH sums AS (
  SELECT ledger_account, count(*) AS entries, sum(amount_pico) AS balance FROM ledger_entries GROUP BY ledger_account
)
SELECT CASE WHEN ledger_account LIKE 'customer:%' THEN 'customers'
            WHEN ledger_account LIKE 'receivable:%' THEN 'receivables'
            ELSE ledger_account END AS "ledgerAccount",
       count(*)::integer AS "accounts", sum(entries)::text AS "entries", sum(balance)::text AS "balancePico"
FROM sums GROUP BY 1 ORDER BY 1`

/** Sums the ledger by account. Reads all of it. */
export async function sumLedger(postgres: Postgres): Promise<LedgerSum[]> {
  const rows =
    await postgres.$queryRawUnsafe<
      Array<{ ledgerAccount: string; accounts: number; entries: string; balancePico: string }>
    >(SUMS)
  return rows.map(({ ledgerAccount, accounts, entries, balancePico }) => ({
    ledgerAccount,
    accounts,
    entries: Number(entries),
    balancePico: BigInt(balancePico),
  }))
}
