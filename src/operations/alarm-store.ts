import { newId } from '../core/kernel/ids.ts'
import { type AlarmCount, type AlarmFields, addAlarms, parseAlarmCount } from '../core/operations/alarm.ts'
import { type IdPage, newestFirst, type Postgres } from '../platform/postgres/postgres.ts'
import type { Alarm as AlarmRow } from '../platform/prisma-client/client.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { ALARMS } from '../platform/redis/redis-keys.ts'

/** An alarm as stored: open until somebody acknowledges it; what comes after that opens a new one. */
export type StoredAlarm = Omit<AlarmRow, 'fields'> & { fields: AlarmFields }

export type AlarmStore = ReturnType<typeof createAlarmStore>

const OPEN = { acknowledgedAt: null }
/** PostgreSQL's `integer`. */
const COUNT_MAX = 2_147_483_647

/**
 * One statement: the cursor moves, and only whoever moved it writes, so that no entry counts twice. Entry ids are
 * Redis's clock, so a stream that begins anew after a loss goes on behind the cursor's place.
 */
const TAKE_OVER = `
WITH moved AS (
  UPDATE alarm_cursor SET entry_id = $2 WHERE id = 1 AND entry_id = $1 RETURNING 1
)
INSERT INTO alarms AS known (id, kind, subject, message, first_at, last_at, count, fields)
SELECT raised.id, raised.kind, raised.subject, raised.message, to_timestamp(raised.first_at / 1000.0),
       to_timestamp(raised.last_at / 1000.0), raised.count, raised.fields
FROM moved, json_to_recordset($3::json) AS raised (
  id text, kind text, subject text, message text, first_at bigint, last_at bigint, count integer, fields jsonb
)
ON CONFLICT (kind, subject) WHERE acknowledged_at IS NULL DO UPDATE SET
  message = excluded.message, fields = excluded.fields, last_at = greatest(known.last_at, excluded.last_at),
  count = least(known.count::bigint + excluded.count, ${COUNT_MAX})::integer`

export function createAlarmStore(postgres: Postgres) {
  /** Where the cursor was when nothing came after it: while nothing does, PostgreSQL need not be asked. */
  let drainedAt: string | null = null
  const after = (redis: Redis, entryId: string, count: number) =>
    redis.xrange(ALARMS, `(${entryId}`, '+', 'COUNT', count)
  return {
    /**
     * Takes alarms over from the stream in Redis, each once whoever else does so too. Returns how many entries;
     * as many as `batchMax` means that there may be more.
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

    /** The latest raised first, after an alarm's id. */
    async page({ openOnly, ...page }: { openOnly: boolean } & IdPage): Promise<StoredAlarm[]> {
      const rows = await postgres.alarm.findMany(newestFirst(page, openOnly ? OPEN : {}))
      return rows.map(toAlarm)
    },

    countOpen: (): Promise<number> => postgres.alarm.count({ where: OPEN }),

    /** Acknowledging again changes nothing. Null when there is no such alarm. */
    async acknowledge(alarmId: string, actor: string, now: Date): Promise<StoredAlarm | null> {
      await postgres.alarm.updateMany({
        where: { id: alarmId, ...OPEN },
        data: { acknowledgedAt: now, acknowledgedBy: actor },
      })
      const row = await postgres.alarm.findUnique({ where: { id: alarmId } })
      return row && toAlarm(row)
    },

    /** Removes alarms that were acknowledged before a time. */
    async prune(before: Date): Promise<void> {
      await postgres.alarm.deleteMany({ where: { acknowledgedAt: { lt: before } } })
    },
  }
}

/** One row a kind and subject: a statement cannot touch a row twice. */
function merged(alarms: Array<AlarmCount | null>) {
  const byName = new Map<string, AlarmCount>()
  for (const alarm of alarms) {
    if (alarm === null) continue
    const name = JSON.stringify([alarm.kind, alarm.subject])
    byName.set(name, addAlarms(byName.get(name), alarm))
  }
  return [...byName.values()].map(({ firstAt, lastAt, count, ...alarm }) => ({
    id: newId('alarm'),
    ...alarm,
    count: Math.min(count, COUNT_MAX),
    first_at: firstAt,
    last_at: lastAt,
  }))
}

/** Written by `takeOver` alone, whose fields are of this shape. */
const toAlarm = (row: AlarmRow): StoredAlarm => ({ ...row, fields: row.fields as AlarmFields })
