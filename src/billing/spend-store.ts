import type { Postgres } from '../platform/postgres.ts'

/** What keys have spent, from the call records. */
export interface SpendStore {
  /** Charges of a key's calls admitted since a moment (unix ms), pico-USD. */
  spentSince(keyId: string, sinceMs: number): Promise<bigint>
}

export function createSpendStore(postgres: Postgres): SpendStore {
  return {
    async spentSince(keyId, sinceMs) {
      const { _sum } = await postgres.callRecord.aggregate({
        where: { keyId, admittedAtMs: { gte: BigInt(sinceMs) } },
        _sum: { chargePico: true },
      })
      return _sum.chargePico ?? 0n
    },
  }
}
