import type { AllowancePeriod } from '../../core/billing/allowance-period.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

export interface KeyActivity {
  /** Settled in the key's period. */
  spentPico: bigint
  /** When its latest settled call was admitted, unix ms. */
  lastUsedAt: number | null
}

/** What some keys were used for, each within a period of its own; of one snapshot. */
export interface KeyActivityStore {
  activity(keys: ReadonlyArray<{ keyId: string; period: AllowancePeriod }>): Promise<Map<string, KeyActivity>>
}

/** Read from an index alone, one range a key. */
const ACTIVITY = `
SELECT key.id AS "keyId",
  (SELECT coalesce(sum(charge_pico), 0)::text FROM call_records
   WHERE key_id = key.id AND admitted_at_ms >= key.starts_at) AS "spent",
  (SELECT max(admitted_at_ms)::text FROM call_records WHERE key_id = key.id) AS "lastUsedAt"
FROM unnest($1::text[], $2::bigint[]) AS key (id, starts_at)`

export function createKeyActivityStore(postgres: Postgres): KeyActivityStore {
  return {
    async activity(keys) {
      const rows = await postgres.$queryRawUnsafe<
        Array<{ keyId: string; spent: string; lastUsedAt: string | null }>
      >(
        ACTIVITY,
        keys.map(({ keyId }) => keyId),
        keys.map(({ period }) => BigInt(period.startsAt)),
      )
      return new Map(
        rows.map(({ keyId, spent, lastUsedAt }) => [
          keyId,
          { spentPico: BigInt(spent), lastUsedAt: lastUsedAt === null ? null : Number(lastUsedAt) },
        ]),
      )
    },
  }
}
