import { type AlarmCount, addAlarms, alarmOf } from '../../core/operations/alarm.ts'
import type { Redis } from '../redis/redis.ts'
import { ALARMS } from '../redis/redis-keys.ts'

/** Kinds and subjects a process keeps until its next report; of more, only the kinds are kept apart. */
const WAITING_MAX = 200
const OTHERS = 'others'
/** The stream keeps about this many until PostgreSQL has them. */
const STREAM_MAX = 10_000

type Pipeline = ReturnType<Redis['pipeline']>

/**
 * Alarms of one process, counted in memory until the next report. Never blocks or fails who raises one. `raised` is
 * called with each alarm's kind, for a metric.
 */
export function createAlarmOutbox(clock: () => number, raised: (kind: string) => void) {
  let waiting = new Map<string, AlarmCount>()
  const add = (alarm: AlarmCount) => {
    const isRoom = waiting.size < WAITING_MAX || waiting.has(nameOf(alarm))
    const kept = isRoom ? alarm : { ...alarm, subject: OTHERS }
    waiting.set(nameOf(kept), addAlarms(waiting.get(nameOf(kept)), kept))
  }
  return {
    /** Takes the alarm in a log line's fields, if it raises one. */
    add(logged: unknown, message: string): void {
      const alarm = alarmOf(logged, message)
      if (alarm === null) return
      const now = clock()
      add({ ...alarm, count: 1, firstAt: now, lastAt: now })
      raised(alarm.kind)
    },
    /** Adds to the pipeline what was raised; `done` says whether Redis has it. */
    flush(pipeline: Pipeline): { done(written: boolean): void } {
      const flushed = [...waiting.values()]
      waiting = new Map()
      for (const alarm of flushed)
        pipeline.xadd(ALARMS, 'MAXLEN', '~', STREAM_MAX, '*', 'alarm', JSON.stringify(alarm))
      return {
        done(written) {
          if (!written) for (const alarm of flushed) add(alarm)
        },
      }
    },
  }
}

const nameOf = ({ kind, subject }: AlarmCount): string => `${kind} ${subject}`
