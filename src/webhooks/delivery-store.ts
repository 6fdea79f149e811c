import { EVENT_MAILS } from '../core/accounts/event-mails.ts'
import type { EventData, EventType, OutboxEvent } from '../core/webhooks/event.ts'
import type { AfterAttempt, AttemptResult } from '../core/webhooks/webhook-retry.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { DeliveryAttempt } from '../platform/queues/queues.ts'
import { recordAttempt } from './record-attempt.ts'

/** The data for one delivery of an event to an endpoint. */
export interface DueDelivery {
  id: string
  /** Number of previous attempts. */
  attempts: number
  event: OutboxEvent
  endpoint: {
    id: string
    url: string
    /** Sealed, newest first; more than one while a rotation overlaps. */
    sealedSecrets: string[]
  }
}

/**
 * Lanes that keep slow deliveries from delaying others. `quick`: endpoints whose attempts are short. `new`: endpoints
 * without a measurement. `slow`: endpoints with a long or timed-out attempt in the last minutes.
 */
export type Lane = 'quick' | 'new' | 'slow'

/** Maximum deliveries queued or running. */
export interface LaneBounds {
  perAccount: number
  inAll: number
}

export interface ClaimBounds {
  /** Of one endpoint, in any lane. */
  perEndpoint: number
  lanes: Record<Lane, LaneBounds>
  /** How long a claimed delivery belongs to its job before it counts as lost and is claimed again. */
  leaseMs: number
}

const HAS_WORK = `
SELECT EXISTS (SELECT FROM events WHERE fanned_out_at IS NULL)
    OR EXISTS (SELECT FROM webhook_deliveries WHERE state = 'pending' AND next_attempt_at <= now())
    OR EXISTS (SELECT FROM event_mails WHERE finished_at IS NULL AND (queued_until IS NULL OR queued_until <= now()))
       AS "hasWork"`

/** Maximum event messages to a person in a day; further ones are dropped. */
const MAILS_PER_DAY = 50

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
), mail AS (
  INSERT INTO event_mails (event_id, account_id)
  SELECT event.id, person.id
  FROM event JOIN unnest($2::text[], $3::text[]) AS mailed (type, preference) ON mailed.type = event.type
  CROSS JOIN LATERAL (
    SELECT event.account_id AS id UNION ALL
    SELECT person_id FROM organisation_members WHERE account_id = event.account_id AND role IN ('owner', 'billing')
  ) AS recipient JOIN accounts AS person ON person.id = recipient.id
  WHERE person.email_verified_at IS NOT NULL AND coalesce(mailed.preference <> ALL (person.muted_mails), true)
    AND ${MAILS_PER_DAY} > (
      SELECT count(*) FROM event_mails AS sent
      WHERE sent.account_id = person.id AND sent.created_at > now() - interval '1 day'
    )
  ON CONFLICT (event_id, account_id) DO NOTHING
), done AS (
  UPDATE events SET fanned_out_at = now() FROM event WHERE events.id = event.id RETURNING events.id
)
SELECT count(*)::int AS "events" FROM done`

/**
 * Running deliveries take the first places of their endpoint, account and lane; due deliveries get the rest of the
 * bounds. Reads the running ones and, by index, the next few of each endpoint that has any: however many wait, the
 * others are not read. `due` reads its rows again after locking them, because another process may have claimed them
 * meanwhile.
 */
const CLAIM_DUE = `
WITH RECURSIVE lane (name, per_account, in_all) AS (
  VALUES ('quick', $3::int, $4::int), ('new', $5::int, $6::int), ('slow', $7::int, $8::int)
), waiting (endpoint_id) AS (
  (SELECT endpoint_id FROM webhook_deliveries WHERE state = 'pending' ORDER BY endpoint_id LIMIT 1)
  UNION ALL
  SELECT next.endpoint_id FROM waiting CROSS JOIN LATERAL (
    SELECT delivery.endpoint_id FROM webhook_deliveries AS delivery
    WHERE state = 'pending' AND delivery.endpoint_id > waiting.endpoint_id ORDER BY delivery.endpoint_id LIMIT 1
  ) AS next
), open AS (
  SELECT id, endpoint_id, next_attempt_at, true AS running FROM webhook_deliveries
  WHERE state = 'pending' AND queued_until > now()
  UNION ALL
  SELECT delivery.id, waiting.endpoint_id, delivery.next_attempt_at, false FROM waiting CROSS JOIN LATERAL (
    SELECT id, next_attempt_at FROM webhook_deliveries
    WHERE state = 'pending' AND endpoint_id = waiting.endpoint_id AND next_attempt_at <= now()
      AND (queued_until IS NULL OR queued_until <= now())
    ORDER BY next_attempt_at, id LIMIT $1::int
  ) AS delivery
), of_endpoint AS (
  SELECT open.*, endpoint.account_id,
         CASE WHEN endpoint.slow_until > now() THEN 'slow' WHEN endpoint.proven_at IS NULL THEN 'new'
              ELSE 'quick' END AS lane,
         row_number() OVER (PARTITION BY endpoint_id ORDER BY running DESC, next_attempt_at, open.id) AS place
  FROM open JOIN webhook_endpoints AS endpoint ON endpoint.id = open.endpoint_id
), of_account AS (
  SELECT *, row_number() OVER (PARTITION BY account_id, lane ORDER BY running DESC, next_attempt_at, id) AS turn
  FROM of_endpoint WHERE running OR place <= $1::int
), of_lane AS (
  SELECT of_account.id, running, in_all,
         row_number() OVER (PARTITION BY lane ORDER BY running DESC, turn, next_attempt_at, id) AS position
  FROM of_account JOIN lane ON lane.name = of_account.lane WHERE running OR turn <= per_account
), due AS (
  SELECT id FROM webhook_deliveries
  WHERE id = ANY (ARRAY(SELECT id FROM of_lane WHERE NOT running AND position <= in_all))
    AND state = 'pending' AND (queued_until IS NULL OR queued_until <= now())
  FOR UPDATE SKIP LOCKED
)
UPDATE webhook_deliveries AS delivery SET queued_until = now() + $2::int * interval '1 millisecond'
FROM due WHERE delivery.id = due.id RETURNING delivery.id, delivery.attempts`

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

/** Deliveries of webhooks, their work and log. All times are the database's. */
export type DeliveryStore = ReturnType<typeof createDeliveryStore>

/** Types of events that account holders get messages about. */
const MAILED_TYPES = Object.entries(EVENT_MAILS)

/** The delivery store over PostgreSQL. `isMailed`: events also become messages to account holders. */
export function createDeliveryStore(postgres: Postgres, { isMailed = false } = {}) {
  const mailed = isMailed ? MAILED_TYPES : []
  const [types, preferences] = [mailed.map(([type]) => type), mailed.map(([, preference]) => preference)]
  return {
    /** Whether an event waits to be fanned out, or a delivery is due. */
    async hasWork() {
      const [row] = await postgres.$queryRawUnsafe<Array<{ hasWork: boolean }>>(HAS_WORK)
      return row?.hasWork ?? false
    },

    /**
     * Creates a delivery of each waiting event for each subscribed endpoint that is enabled, and a message to the
     * holder, or to the owners and billing members of the organisation, if their address is verified. Returns the
     * number of events.
     */
    async fanOut(limit: number) {
      const [row] = await postgres.$queryRawUnsafe<Array<{ events: number }>>(
        FAN_OUT,
        limit,
        types,
        preferences,
      )
      return row?.events ?? 0
    },

    /** Claims due deliveries, each for one caller; accounts take turns in each lane. */
    async claimDue({ perEndpoint, leaseMs, lanes }: ClaimBounds) {
      const ofLanes = [lanes.quick, lanes.new, lanes.slow].flatMap((lane) => [lane.perAccount, lane.inAll])
      return postgres.$queryRawUnsafe<DeliveryAttempt[]>(CLAIM_DUE, perEndpoint, leaseMs, ...ofLanes)
    },

    /** A delivery to make now; null if it is done, not due, or deleted with its endpoint. */
    async findDue(deliveryId: string) {
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

    /**
     * Logs an attempt and sets the next step. An endpoint that returned 410, or that has failed for `disableAfterMs`
     * without a success in between, is disabled and its deliveries are dropped; `disabled` is then the reason,
     * otherwise null. A delivery that is already done does not change.
     */
    record: (delivery: DueDelivery, result: AttemptResult, next: AfterAttempt, disableAfterMs: number) =>
      recordAttempt(postgres, delivery, result, next, disableAfterMs),

    /** Deletes events older than this with their deliveries, except pending ones. Returns their number. */
    async purge(olderThanMs: number, limit: number) {
      return postgres.$executeRawUnsafe(PURGE, BigInt(olderThanMs), limit)
    },
  }
}
