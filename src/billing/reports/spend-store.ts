import type { AllowancePeriod } from '../../core/billing/allowance-period.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/** What a key has spent in a period, and which of some calls that sum may contain. */
export interface KeySpending {
  spentPico: bigint
  /** The charges of those calls that are settled; at the same instant as the sum. */
  charges: Map<string, bigint>
}

/** What keys have spent, from the call records. A call belongs to the period it was admitted in. */
export interface SpendStore {
  spending(keyId: string, period: AllowancePeriod, callIds: readonly string[]): Promise<KeySpending>
}

/** One statement, so that both answers are of one snapshot. The sum is read from an index alone. */
const SPENDING = `
SELECT (
  SELECT coalesce(sum(charge_pico), 0)::text FROM call_records
  WHERE key_id = $1 AND admitted_at_ms >= $2::bigint AND ($3::bigint IS NULL OR admitted_at_ms < $3::bigint)
) AS "spent", (
  SELECT coalesce(json_object_agg(id, charge_pico::text), '{}') FROM call_records WHERE id = ANY ($4::text[])
) AS "charges"`

export function createSpendStore(postgres: Postgres): SpendStore {
  return {
    async spending(keyId, { startsAt, endsAt }, callIds) {
      const [row] = await postgres.$queryRawUnsafe<Array<{ spent: string; charges: Record<string, string> }>>(
        SPENDING,
        keyId,
        BigInt(startsAt),
        endsAt === null ? null : BigInt(endsAt),
        callIds,
      )
      if (!row) throw new Error('what a key spent could not be read')
      const charges = Object.entries(row.charges).map(([id, charge]) => [id, BigInt(charge)] as const)
      return { spentPico: BigInt(row.spent), charges: new Map(charges) }
    },
  }
}
