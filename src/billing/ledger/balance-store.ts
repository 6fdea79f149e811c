import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { LedgerBalance } from '../holds/hold-store.ts'

const POSTED_WITHIN = `
SELECT DISTINCT account_id AS "accountId" FROM ledger_transactions
WHERE kind <> 'capture' AND created_at > now() - $1::float8 * interval '1 millisecond'`

export type BalanceStore = ReturnType<typeof createBalanceStore>

/** Reads balances from PostgreSQL, to compare with the balance cache in Redis. */
export function createBalanceStore(postgres: Postgres) {
  return {
    /** The ledger's balances of accounts; unknown ids are omitted. */
    async balances(accountIds: readonly string[]): Promise<Map<string, LedgerBalance>> {
      const rows = await postgres.account.findMany({
        where: { id: { in: [...accountIds] } },
        select: { id: true, balancePico: true, version: true },
      })
      return new Map(rows.map(({ id, balancePico, version }) => [id, { balancePico, version }]))
    },

    /** The ledger's versions of a page of accounts, by id. */
    async versions(after: string, limit: number): Promise<Array<{ id: string; version: bigint }>> {
      return postgres.account.findMany({
        where: { id: { gt: after } },
        orderBy: { id: 'asc' },
        take: limit,
        select: { id: true, version: true },
      })
    },

    /**
     * Accounts with a posting of the last `ageMs` that is not of a settlement. A settlement is repeated until Redis has
     * it; the process that made another posting may die before it applies it.
     */
    async postedWithin(ageMs: number): Promise<string[]> {
      const rows = await postgres.$queryRawUnsafe<Array<{ accountId: string }>>(POSTED_WITHIN, ageMs)
      return rows.map(({ accountId }) => accountId)
    },
  }
}
