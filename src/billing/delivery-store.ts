import type { EventData, EventType, OutboxEvent } from '../core/event.ts'
import type { AfterAttempt, AttemptResult } from '../core/webhook-retry.ts'
import type { Postgres } from '../platform/postgres.ts'
import { recordAttempt } from './record-attempt.ts'

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

    record: (...attempt) => recordAttempt(postgres, ...attempt),

    async purge(olderThanMs, limit) {
      return postgres.$executeRawUnsafe(PURGE, BigInt(olderThanMs), limit)
    },
  }
}
