import type { EventData, EventType, OutboxEvent } from '../core/event.ts'
import type { AfterAttempt, AttemptResult } from '../core/webhook-retry.ts'
import type { Postgres } from '../platform/postgres.ts'

/** What is needed to deliver one event to one endpoint, once. */
export interface DueDelivery {
  id: string
  /** Attempts made before. */
  attempts: number
  event: OutboxEvent
  endpoint: {
    id: string
    url: string
    /** Sealed, newest first; more than one while a rotation overlaps. */
    sealedSecrets: string[]
  }
}

/** How many to look at, and how they are bounded. */
export interface ClaimBounds {
  limit: number
  /** Deliveries of one endpoint queued or running at once, so that a slow one holds up nobody else. */
  perEndpoint: number
  /** How long a claimed delivery is left to its job before it counts as lost and is claimed again. */
  leaseMs: number
}

/** Deliveries, the work and the log of webhooks. Every time is the database's. */
export interface DeliveryStore {
  /** Makes a delivery of each waiting event for each enabled endpoint that asks for it. Returns the events done. */
  fanOut(limit: number): Promise<number>
  /** Deliveries whose time has come, each to one caller only. */
  claimDue(bounds: ClaimBounds): Promise<string[]>
  /** A delivery to make now; null when it is done, not due again yet, or gone with its endpoint. */
  findDue(deliveryId: string): Promise<DueDelivery | null>
  /**
   * Writes an attempt into the log and sets what follows. An endpoint that said it is gone, or that has failed
   * for `disableAfterMs` without a success between, is disabled and its deliveries given up; `disabled` then
   * says why, else it is null. A delivery that is done already stays as it is.
   */
  record(
    delivery: DueDelivery,
    result: AttemptResult,
    next: AfterAttempt,
    disableAfterMs: number,
  ): Promise<{ disabled: string | null }>
  /** Deletes events older than this with their deliveries, except what is still to be delivered. Returns how many. */
  purge(olderThanMs: number, limit: number): Promise<number>
}

const FAN_OUT = `
WITH event AS MATERIALIZED (
  SELECT id, type, account_id, endpoint_id FROM events
  WHERE fanned_out_at IS NULL ORDER BY created_at, id LIMIT $1 FOR UPDATE SKIP LOCKED
), delivery AS (
  INSERT INTO webhook_deliveries (id, event_id, endpoint_id, next_attempt_at)
  SELECT 'dlv_' || replace(gen_random_uuid()::text, '-', ''), event.id, endpoint.id, now()
  FROM event JOIN webhook_endpoints AS endpoint ON endpoint.account_id = event.account_id
  WHERE endpoint.enabled AND CASE
    WHEN event.endpoint_id IS NULL THEN endpoint.event_types = '{}' OR event.type = ANY (endpoint.event_types)
    ELSE event.endpoint_id = endpoint.id END
  ON CONFLICT (event_id, endpoint_id) DO NOTHING
), done AS (
  UPDATE events SET fanned_out_at = now() FROM event WHERE events.id = event.id RETURNING events.id
)
SELECT count(*)::int AS "events" FROM done`

/** `due` looks at its rows once more after locking them: another process may have claimed them meanwhile. */
const CLAIM_DUE = `
WITH busy AS (
  SELECT endpoint_id, count(*) AS running FROM webhook_deliveries
  WHERE state = 'pending' AND queued_until > now() GROUP BY endpoint_id
), candidate AS (
  SELECT delivery.id, coalesce(busy.running, 0)
    + row_number() OVER (PARTITION BY delivery.endpoint_id ORDER BY delivery.next_attempt_at, delivery.id) AS place
  FROM webhook_deliveries AS delivery LEFT JOIN busy USING (endpoint_id)
  WHERE state = 'pending' AND next_attempt_at <= now() AND (queued_until IS NULL OR queued_until <= now())
), due AS (
  SELECT id FROM webhook_deliveries
  WHERE id IN (SELECT id FROM candidate WHERE place <= $2::int LIMIT $1)
    AND state = 'pending' AND (queued_until IS NULL OR queued_until <= now())
  FOR UPDATE SKIP LOCKED
)
UPDATE webhook_deliveries AS delivery SET queued_until = now() + $3::int * interval '1 millisecond'
FROM due WHERE delivery.id = due.id RETURNING delivery.id`

const FIND_DUE = `
SELECT delivery.id, delivery.attempts, delivery.event_id AS "eventId", event.type, event.account_id AS "accountId",
       event.data, event.created_at AS "createdAt", endpoint.id AS "endpointId", endpoint.url,
       endpoint.secret_sealed AS "secret",
       CASE WHEN endpoint.previous_secret_until > now() THEN endpoint.previous_secret_sealed END AS "previousSecret"
FROM webhook_deliveries AS delivery
JOIN events AS event ON event.id = delivery.event_id
JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
WHERE delivery.id = $1 AND delivery.state = 'pending' AND delivery.next_attempt_at <= now() AND endpoint.enabled`

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

const NOTE_FAILURE = `
UPDATE webhook_endpoints SET
  failing_since = coalesce(failing_since, now()),
  enabled = enabled AND NOT over.due,
  disabled_reason = CASE WHEN enabled AND over.due THEN $4 ELSE disabled_reason END
FROM (
  SELECT $2::boolean OR coalesce(failing_since <= now() - $3::bigint * interval '1 millisecond', false) AS due
  FROM webhook_endpoints WHERE id = $1 FOR UPDATE
) AS over
WHERE id = $1 AND enabled
RETURNING NOT enabled AS "disabled"`

const GIVE_UP_ALL = `
UPDATE webhook_deliveries SET state = 'failed', next_attempt_at = NULL, queued_until = NULL, finished_at = now(),
  error = coalesce(error, 'the endpoint was disabled')
WHERE endpoint_id = $1 AND state = 'pending'`

const PURGE = `
DELETE FROM events WHERE id IN (
  SELECT id FROM events WHERE created_at < now() - $1::bigint * interval '1 millisecond' AND fanned_out_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries WHERE event_id = events.id AND state = 'pending')
  ORDER BY created_at LIMIT $2)`

interface DueRow {
  id: string
  attempts: number
  eventId: string
  type: EventType
  accountId: string
  data: EventData
  createdAt: Date
  endpointId: string
  url: string
  secret: string
  previousSecret: string | null
}

/** The delivery store over PostgreSQL. */
export function createDeliveryStore(postgres: Postgres): DeliveryStore {
  return {
    async fanOut(limit) {
      const [row] = await postgres.$queryRawUnsafe<Array<{ events: number }>>(FAN_OUT, limit)
      return row?.events ?? 0
    },

    async claimDue({ limit, perEndpoint, leaseMs }) {
      const rows = await postgres.$queryRawUnsafe<Array<{ id: string }>>(
        CLAIM_DUE,
        limit,
        perEndpoint,
        leaseMs,
      )
      return rows.map((row) => row.id)
    },

    async findDue(deliveryId) {
      const [row] = await postgres.$queryRawUnsafe<DueRow[]>(FIND_DUE, deliveryId)
      if (!row) return null
      const { id, attempts, eventId, type, accountId, data, createdAt, endpointId, url } = row
      return {
        id,
        attempts,
        event: { id: eventId, type, accountId, data, createdAt },
        endpoint: {
          id: endpointId,
          url,
          sealedSecrets: row.previousSecret === null ? [row.secret] : [row.secret, row.previousSecret],
        },
      }
    },

    async record({ id, endpoint }, result, next, disableAfterMs) {
      const statusCode = result.kind === 'answered' ? result.statusCode : null
      const delivered = next.kind === 'delivered'
      const error = delivered ? null : result.kind === 'answered' ? `HTTP ${statusCode}` : result.error
      const state = delivered ? 'delivered' : next.kind === 'retry' ? 'pending' : 'failed'
      const delayMs = BigInt(next.kind === 'retry' ? next.delayMs : 0)
      return postgres.$transaction(async (transaction) => {
        const changed = await transaction.$executeRawUnsafe(
          RECORD,
          id,
          statusCode,
          error,
          Math.round(result.durationMs),
          state,
          delayMs,
        )
        if (changed === 0) return { disabled: null }
        if (delivered) {
          await transaction.$executeRawUnsafe(NOTE_SUCCESS, endpoint.id)
          return { disabled: null }
        }
        const reason = next.kind === 'gone' ? 'it answered 410 Gone' : 'every attempt failed for too long'
        const [row] = await transaction.$queryRawUnsafe<Array<{ disabled: boolean }>>(
          NOTE_FAILURE,
          endpoint.id,
          next.kind === 'gone',
          BigInt(disableAfterMs),
          reason,
        )
        if (!row?.disabled) return { disabled: null }
        await transaction.$executeRawUnsafe(GIVE_UP_ALL, endpoint.id)
        return { disabled: reason }
      })
    },

    async purge(olderThanMs, limit) {
      return postgres.$executeRawUnsafe(PURGE, BigInt(olderThanMs), limit)
    },
  }
}
