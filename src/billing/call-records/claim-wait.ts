import type { ClaimWaitView } from '../../core/api/operations.ts'
import { callIdRange } from '../../core/kernel/ids.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

const WINDOW_MS = 300_000
/** Of more calls the latest; their order of magnitude does not change with more. */
const CALLS_MAX = 20_000

const WAITS = `
SELECT count(*)::integer AS "calls", percentile_disc(ARRAY[0.5, 0.95, 0.99, 1]) WITHIN GROUP (ORDER BY wait) AS "waits"
FROM (
  SELECT greatest(0, claimed_at_ms - admitted_at_ms)::double precision AS wait FROM call_records
  WHERE id >= $1 AND admitted_at_ms >= $2::bigint AND claimed_at_ms IS NOT NULL
  ORDER BY id DESC LIMIT ${CALLS_MAX}
) AS latest`

/** How long calls of the last five minutes waited for a worker; those that are settled. */
export async function readClaimWait(postgres: Postgres, nowMs: number): Promise<ClaimWaitView> {
  const range = { fromMs: nowMs - WINDOW_MS, toMs: nowMs }
  const [row] = await postgres.$queryRawUnsafe<Array<{ calls: number; waits: number[] | null }>>(
    WAITS,
    callIdRange(range).from,
    BigInt(range.fromMs),
  )
  const [p50 = null, p95 = null, p99 = null, max = null] = row?.waits ?? []
  return { window_ms: WINDOW_MS, calls: row?.calls ?? 0, p50_ms: p50, p95_ms: p95, p99_ms: p99, max_ms: max }
}
