import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { LedgerBalance } from '../holds/hold-store.ts'

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
  }
}
