import { type AlarmCount, type AlarmFields, addAlarms, parseAlarmCount } from '../core/alarms/alarm.ts'
import { endsWhenAcknowledged, QUIET_KINDS, severityOf } from '../core/alarms/alarm-kinds.ts'
import { newId } from '../core/kernel/ids.ts'
import { type IdPage, newestFirst, type Postgres } from '../platform/postgres/postgres.ts'
import type { Alarm as AlarmRow } from '../platform/prisma-client/client.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { ALARMS } from '../platform/redis/redis-keys.ts'

/**
 * A stored alarm. It counts repetitions until it is acknowledged, even while its condition is over (`resolvedAt`); a
 * later repetition opens a new alarm. It is open while it is neither acknowledged nor resolved.
 */
export type StoredAlarm = Omit<AlarmRow, 'fields'> & { fields: AlarmFields }

const LATEST_MAX = 200
const OPEN = { acknowledgedAt: null, resolvedAt: null }
/** PostgreSQL's `integer`. */
const COUNT_MAX = 2_147_483_647

/** Notifies the destinations that were notified of the opening that the alarm is over; `ended` has the ids. */
const TELL_ENDED = `
  SELECT DISTINCT notified.destination_id, notified.alarm_id, 'resolved' AS event, 2 AS turn
  FROM ended JOIN alarm_notices AS notified ON notified.alarm_id = ended.id AND notified.event = 'opened'`

const RANK = `array_position(ARRAY['info', 'warning', 'critical'],`

/**
 * One statement: it moves the cursor, and only the process that moved it writes, so no entry counts twice. Entry ids
 * are times of Redis's clock, so a stream that restarts after a loss continues behind the cursor. Destinations are
 * notified when an alarm opens or reopens, but not of repetitions.
 */
const TAKE_OVER = `
WITH moved AS (
  UPDATE alarm_cursor SET entry_id = $2 WHERE id = 1 AND entry_id = $1 RETURNING 1
), raised AS MATERIALIZED (
  SELECT entry.*, to_timestamp(entry.last_ms / 1000.0) AS last_at,
         CASE WHEN entry.is_over THEN to_timestamp(entry.last_ms / 1000.0) END AS over_at
  FROM moved, json_to_recordset($3::json) AS entry (
    id text, kind text, subject text, message text, first_ms bigint, last_ms bigint, count integer, fields jsonb,
    severity text, is_over boolean
  )
), before AS MATERIALIZED (
  SELECT alarms.id, alarms.resolved_at FROM alarms JOIN raised USING (kind, subject)
  WHERE alarms.acknowledged_at IS NULL
), stored AS (
  INSERT INTO alarms AS known (id, kind, subject, message, first_at, last_at, count, fields, resolved_at)
  SELECT id, kind, subject, message, to_timestamp(first_ms / 1000.0), last_at, count, fields, over_at
  FROM raised WHERE count > 0
  ON CONFLICT (kind, subject) WHERE acknowledged_at IS NULL DO UPDATE SET
    message = excluded.message, fields = excluded.fields, last_at = greatest(known.last_at, excluded.last_at),
    count = least(known.count::bigint + excluded.count, ${COUNT_MAX})::integer, resolved_at = excluded.resolved_at
  RETURNING id, kind, subject, resolved_at
), opened AS (
  SELECT stored.id, stored.subject, raised.severity, stored.resolved_at
  FROM stored JOIN raised USING (kind, subject) LEFT JOIN before ON before.id = stored.id
  WHERE before.id IS NULL OR before.resolved_at IS NOT NULL
), quieted AS (
  UPDATE alarms SET resolved_at = raised.over_at FROM raised
  WHERE raised.count = 0 AND raised.is_over AND alarms.resolved_at IS NULL
    AND alarms.kind = raised.kind AND alarms.subject = raised.subject
  RETURNING alarms.id
), ended AS (
  SELECT id FROM quieted UNION ALL
  SELECT id FROM stored WHERE resolved_at IS NOT NULL AND id NOT IN (SELECT id FROM opened)
), notified AS (
  SELECT destination.id AS destination_id, opened.id AS alarm_id, opened.resolved_at
  FROM opened JOIN alarm_destinations AS destination
    ON destination.enabled AND destination.id <> opened.subject
   AND ${RANK} destination.minimum_severity) <= ${RANK} opened.severity)
)
INSERT INTO alarm_notices (destination_id, alarm_id, event)
SELECT destination_id, alarm_id, event FROM (
  SELECT destination_id, alarm_id, 'opened' AS event, 1 AS turn FROM notified
  UNION ALL SELECT destination_id, alarm_id, 'resolved', 2 FROM notified WHERE resolved_at IS NOT NULL
  UNION ALL ${TELL_ENDED}
) AS notices ORDER BY turn, alarm_id`

/** The account that an alarm is about, in its fields or its subject; an index has this expression. */
const OF_ACCOUNT = `
SELECT id FROM alarms
WHERE substring(coalesce(fields ->> 'accountId', subject) from 'acct_[0-9A-Z]+') = $1 AND id < $2
  AND (NOT $3 OR acknowledged_at IS NULL AND resolved_at IS NULL)
ORDER BY id DESC LIMIT $4::integer`
/** Sorts after every id. */
const LAST_ID = '~'

/** $1, $2: kinds and the quiet time that ends each. */
const END_QUIET = `
WITH ended AS (
  UPDATE alarms SET resolved_at = now()
  FROM unnest($1::text[], $2::bigint[]) AS quiet (kind, quiet_ms)
  WHERE alarms.kind = quiet.kind AND alarms.resolved_at IS NULL
    AND alarms.last_at < now() - quiet.quiet_ms * interval '1 millisecond'
  RETURNING alarms.id
)
INSERT INTO alarm_notices (destination_id, alarm_id, event)
SELECT destination_id, alarm_id, event FROM (${TELL_ENDED}) AS notices`

/** $4: whether an acknowledgement ends the alarm. Destinations are not notified of an alarm that is already over. */
const ACKNOWLEDGE = `
WITH before AS MATERIALIZED (
  SELECT id FROM alarms WHERE id = $1 AND acknowledged_at IS NULL AND resolved_at IS NULL
), done AS (
  UPDATE alarms SET acknowledged_at = $2, acknowledged_by = $3,
    resolved_at = CASE WHEN $4 THEN coalesce(resolved_at, $2) ELSE resolved_at END
  WHERE id = $1 AND acknowledged_at IS NULL
)
INSERT INTO alarm_notices (destination_id, alarm_id, event)
SELECT DISTINCT notified.destination_id, notified.alarm_id, CASE WHEN $4 THEN 'resolved' ELSE 'acknowledged' END
FROM before JOIN alarm_notices AS notified ON notified.alarm_id = before.id AND notified.event = 'opened'`

export type AlarmStore = ReturnType<typeof createAlarmStore>

export function createAlarmStore(postgres: Postgres) {
  /** The cursor at the last empty read: while the stream has nothing after it, PostgreSQL need not be read. */
  let drainedAt: string | null = null
  const ofAccount = async (accountId: string, openOnly: boolean, { after, limit }: IdPage) => {
    const values = [accountId, after ?? LAST_ID, openOnly, limit]
    const ids = await postgres.$queryRawUnsafe<Array<{ id: string }>>(OF_ACCOUNT, ...values)
    const where = { id: { in: ids.map(({ id }) => id) } }
    return postgres.alarm.findMany({ where, orderBy: { id: 'desc' } })
  }
  const after = (redis: Redis, entryId: string, count: number) =>
    redis.xrange(ALARMS, `(${entryId}`, '+', 'COUNT', count)
  return {
    /**
     * Moves alarms from the stream in Redis to PostgreSQL, each once even with several processes. Returns the number of
     * entries; `batchMax` means that there may be more.
     */
    async takeOver(redis: Redis, batchMax: number): Promise<number> {
      if (drainedAt !== null && (await after(redis, drainedAt, 1)).length === 0) return 0
      const cursor = await postgres.alarmCursor.findUniqueOrThrow({ where: { id: 1 } })
      const entries = await after(redis, cursor.entryId, batchMax)
      const last = entries.at(-1)
      drainedAt = last ? null : cursor.entryId
      if (!last) return 0
      const alarms = merged(entries.map(([, fields]) => parseAlarmCount(fields[1] ?? '')))
      await postgres.$executeRawUnsafe(TAKE_OVER, cursor.entryId, last[0], JSON.stringify(alarms))
      return entries.length
    },

    /** Resolves alarms of kinds that end when they are no longer raised. */
    async endQuiet(): Promise<void> {
      const kinds = QUIET_KINDS.map(({ kind }) => kind)
      const times = QUIET_KINDS.map(({ quietMs }) => BigInt(quietMs))
      await postgres.$executeRawUnsafe(END_QUIET, kinds, times)
    },

    /** Lists alarms of one account or all, newest first, after an alarm's id. */
    async page({
      openOnly,
      accountId,
      ...page
    }: { openOnly: boolean; accountId: string | null } & IdPage): Promise<StoredAlarm[]> {
      const rows =
        accountId === null
          ? await postgres.alarm.findMany(newestFirst(page, openOnly ? OPEN : {}))
          : await ofAccount(accountId, openOnly, page)
      return rows.map(toAlarm)
    },

    /** The alarms of some kinds, newest first. */
    async latestOf(kinds: readonly string[]): Promise<StoredAlarm[]> {
      const rows = await postgres.alarm.findMany({
        where: { kind: { in: [...kinds] } },
        orderBy: { lastAt: 'desc' },
        take: LATEST_MAX,
      })
      return rows.map(toAlarm)
    },

    countOpen: (): Promise<number> => postgres.alarm.count({ where: OPEN }),

    /** Idempotent. Null if the alarm does not exist. */
    async acknowledge(alarmId: string, actor: string, now: Date): Promise<StoredAlarm | null> {
      const found = await postgres.alarm.findUnique({ where: { id: alarmId }, select: { kind: true } })
      if (!found) return null
      await postgres.$executeRawUnsafe(ACKNOWLEDGE, alarmId, now, actor, endsWhenAcknowledged(found.kind))
      return toAlarm(await postgres.alarm.findUniqueOrThrow({ where: { id: alarmId } }))
    },

    /** Removes alarms that were acknowledged or resolved before a time. */
    async prune(before: Date): Promise<void> {
      const isOld = { lt: before }
      await postgres.alarm.deleteMany({ where: { OR: [{ acknowledgedAt: isOld }, { resolvedAt: isOld }] } })
    },
  }
}

/** One row for each kind and subject, because a statement cannot change a row twice. */
function merged(alarms: Array<AlarmCount | null>) {
  const byName = new Map<string, AlarmCount>()
  for (const alarm of alarms) {
    if (alarm === null) continue
    const name = JSON.stringify([alarm.kind, alarm.subject])
    byName.set(name, addAlarms(byName.get(name), alarm))
  }
  return [...byName.values()].map(({ firstAt, lastAt, count, isOver, ...alarm }) => ({
    id: newId('alarm'),
    ...alarm,
    severity: severityOf(alarm.kind),
    count: Math.min(count, COUNT_MAX),
    is_over: isOver,
    first_ms: firstAt,
    last_ms: lastAt,
  }))
}

/** Only `takeOver` writes these rows, with fields of this shape. */
const toAlarm = (row: AlarmRow): StoredAlarm => ({ ...row, fields: row.fields as AlarmFields })
