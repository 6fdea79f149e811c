import type { AfterAttempt, AttemptResult } from '../core/webhooks/webhook-retry.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'

/** Every transaction locks the endpoint before its deliveries, because disabling changes them all. */
const LOCK_ENDPOINT = 'SELECT id FROM webhook_endpoints WHERE id = $1 FOR NO KEY UPDATE'

const RECORD = `
UPDATE webhook_deliveries SET
  attempts = attempts + 1, status_code = $2::int, error = $3, duration_ms = $4::int, queued_until = NULL,
  attempt_log = attempt_log || jsonb_build_array(jsonb_build_object(
    'at', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'status_code', $2::int, 'error', $3::text, 'duration_ms', $4::int)),
  state = $5::delivery_state,
  next_attempt_at = CASE WHEN $5 = 'pending' THEN now() + $6::bigint * interval '1 millisecond' END,
  finished_at = CASE WHEN $5 = 'pending' THEN NULL ELSE now() END
WHERE id = $1 AND state = 'pending'`

const NOTE_SUCCESS = `UPDATE webhook_endpoints SET failing_since = NULL WHERE id = $1 AND failing_since IS NOT NULL`

/** A longer attempt is slow, and its endpoint is in the slow lane for a while. */
const SLOW_MS = 2_000
const SLOW_FOR_MS = 10 * 60_000

const NOTE_QUICK = 'UPDATE webhook_endpoints SET proven_at = now() WHERE id = $1 AND proven_at IS NULL'

const NOTE_SLOW = `
UPDATE webhook_endpoints SET slow_until = now() + $2::int * interval '1 millisecond' WHERE id = $1`

const NOTE_FAILURE = `
UPDATE webhook_endpoints SET
  failing_since = coalesce(failing_since, now()),
  enabled = enabled AND NOT over.due,
  disabled_reason = CASE WHEN enabled AND over.due THEN $4 ELSE disabled_reason END
FROM (
  SELECT $2::boolean OR coalesce(failing_since <= now() - $3::bigint * interval '1 millisecond', false) AS due
  FROM webhook_endpoints WHERE id = $1
) AS over
WHERE id = $1 AND enabled
RETURNING NOT enabled AS "disabled"`

const GIVE_UP_ALL = `
UPDATE webhook_deliveries SET state = 'failed', next_attempt_at = NULL, queued_until = NULL, finished_at = now(),
  error = coalesce(error, 'the endpoint was disabled')
WHERE endpoint_id = $1 AND state = 'pending'`

/** Implements `DeliveryStore.record` in one transaction: the log, the next step, and the endpoint's health and pace. */
export async function recordAttempt(
  postgres: Postgres,
  { id, endpoint }: { id: string; endpoint: { id: string } },
  result: AttemptResult,
  next: AfterAttempt,
  disableAfterMs: number,
): Promise<{ disabled: string | null }> {
  return postgres.$transaction(async (transaction) => {
    await transaction.$queryRawUnsafe(LOCK_ENDPOINT, endpoint.id)
    const changed = await transaction.$executeRawUnsafe(RECORD, ...recordArguments(id, result, next))
    if (changed === 0) return { disabled: null }
    if (result.durationMs > SLOW_MS) await transaction.$executeRawUnsafe(NOTE_SLOW, endpoint.id, SLOW_FOR_MS)
    else await transaction.$executeRawUnsafe(NOTE_QUICK, endpoint.id)
    if (next.kind === 'delivered') {
      await transaction.$executeRawUnsafe(NOTE_SUCCESS, endpoint.id)
      return { disabled: null }
    }
    const gone = next.kind === 'gone'
    const reason = gone ? 'it returned 410 Gone' : 'every attempt failed for too long'
    const [row] = await transaction.$queryRawUnsafe<Array<{ disabled: boolean }>>(
      NOTE_FAILURE,
      endpoint.id,
      gone,
      BigInt(disableAfterMs),
      reason,
    )
    if (!row?.disabled) return { disabled: null }
    await transaction.$executeRawUnsafe(GIVE_UP_ALL, endpoint.id)
    return { disabled: reason }
  })
}

function recordArguments(id: string, result: AttemptResult, next: AfterAttempt): unknown[] {
  const statusCode = result.kind === 'answered' ? result.statusCode : null
  const failure = result.kind === 'answered' ? `HTTP ${statusCode}` : result.error
  const durationMs = Math.round(result.durationMs)
  switch (next.kind) {
    case 'delivered':
      return [id, statusCode, null, durationMs, 'delivered', 0n]
    case 'retry':
      return [id, statusCode, failure, durationMs, 'pending', BigInt(next.delayMs)]
    case 'give-up':
    case 'gone':
      return [id, statusCode, failure, durationMs, 'failed', 0n]
  }
}
