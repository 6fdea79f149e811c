import type { AlarmFields } from '../core/alarms/alarm.ts'
import type { Notice, NoticeEvent } from '../core/alarms/alarm-message.ts'
import type { AfterAttempt } from '../core/webhooks/webhook-retry.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'

/** A destination with due notices, in order. */
export interface ClaimedDestination {
  id: string
  name: string
  targetSealed: string
  /** Failed attempts of its next message. */
  attempts: number
  notices: Array<{ id: bigint; notice: Notice }>
}

export type AlarmNoticeStore = ReturnType<typeof createAlarmNoticeStore>

const NOTICES_MAX = 500

/** $1: lease, ms. $2: maximum messages of a destination in a minute. Notices of one message have the same time. */
const CLAIM = `
UPDATE alarm_destinations AS destination SET leased_until = now() + $1::int * interval '1 millisecond'
FROM (
  SELECT id FROM alarm_destinations AS due
  WHERE enabled AND (leased_until IS NULL OR leased_until <= now())
    AND (next_attempt_at IS NULL OR next_attempt_at <= now())
    AND EXISTS (
      SELECT FROM alarm_notices WHERE destination_id = due.id AND sent_at IS NULL AND given_up_at IS NULL
    )
    AND (CASE kind WHEN 'pagerduty' THEN $3::int ELSE $2::int END) > (
      SELECT count(DISTINCT sent_at) FROM alarm_notices
      WHERE destination_id = due.id AND sent_at > now() - interval '1 minute'
    )
  FOR UPDATE SKIP LOCKED
) AS due
WHERE destination.id = due.id
RETURNING destination.id, destination.name, destination.target_sealed AS "targetSealed", destination.attempts`

const SENT = `
WITH sent AS (UPDATE alarm_notices SET sent_at = now() WHERE id = ANY ($2::bigint[]))
UPDATE alarm_destinations SET leased_until = NULL, attempts = 0, next_attempt_at = NULL, delivered_at = now(),
  failing_since = NULL, error = NULL
WHERE id = $1`

const FAILED = `
UPDATE alarm_destinations SET leased_until = NULL, attempts = attempts + 1, error = $2,
  failing_since = coalesce(failing_since, now()), next_attempt_at = now() + $3::bigint * interval '1 millisecond'
WHERE id = $1`

const GIVEN_UP = `
WITH given_up AS (UPDATE alarm_notices SET given_up_at = now() WHERE id = ANY ($3::bigint[]))
UPDATE alarm_destinations SET leased_until = NULL, attempts = 0, next_attempt_at = NULL, error = $2,
  failing_since = coalesce(failing_since, now())
WHERE id = $1`

/** Notices that wait for delivery, in PostgreSQL; all times are the database's. */
export function createAlarmNoticeStore(postgres: Postgres) {
  return {
    /** Claims destinations with due notices, each for one caller until its lease ends. */
    async claim(bounds: {
      leaseMs: number
      perMinute: number
      perMinutePagerDuty: number
    }): Promise<ClaimedDestination[]> {
      const { leaseMs, perMinute, perMinutePagerDuty } = bounds
      const claimed = await postgres.$queryRawUnsafe<Array<Omit<ClaimedDestination, 'notices'>>>(
        CLAIM,
        leaseMs,
        perMinute,
        perMinutePagerDuty,
      )
      return Promise.all(claimed.map(async (one) => ({ ...one, notices: await waitingOf(one.id) })))
    },

    /** Marks the notices of an accepted message as sent. */
    async sent(destinationId: string, noticeIds: bigint[]): Promise<void> {
      await postgres.$executeRawUnsafe(SENT, destinationId, noticeIds)
    },

    /** Schedules a retry of these notices, or drops them. */
    async failed(
      destinationId: string,
      noticeIds: bigint[],
      next: Exclude<AfterAttempt, { kind: 'delivered' }>,
      error: string,
    ): Promise<void> {
      if (next.kind === 'retry')
        await postgres.$executeRawUnsafe(FAILED, destinationId, error, BigInt(next.delayMs))
      else await postgres.$executeRawUnsafe(GIVEN_UP, destinationId, error, noticeIds)
    },

    /** Removes notices that were sent or dropped before a time. */
    async prune(before: Date): Promise<void> {
      const isOld = { lt: before }
      await postgres.alarmNotice.deleteMany({ where: { OR: [{ sentAt: isOld }, { givenUpAt: isOld }] } })
    },
  }

  async function waitingOf(destinationId: string): Promise<ClaimedDestination['notices']> {
    const rows = await postgres.alarmNotice.findMany({
      where: { destinationId, sentAt: null, givenUpAt: null },
      include: { alarm: true },
      orderBy: { id: 'asc' },
      take: NOTICES_MAX,
    })
    return rows.map(({ id, event, alarm }) => ({
      id,
      notice: alarm
        ? {
            event: event as Exclude<NoticeEvent, 'test'>,
            alarm: { ...alarm, fields: alarm.fields as AlarmFields },
          }
        : { event: 'test', alarm: null },
    }))
  }
}
