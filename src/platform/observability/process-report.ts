import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { LogFn } from 'pino'
import { Counter, type Registry } from 'prom-client'
import { type AlarmCount, addAlarms, alarmsOf } from '../../core/alarms/alarm.ts'
import type { ProcessView } from '../../core/api/operations.ts'
import { newId } from '../../core/kernel/ids.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { pollEvery } from '../process/poll-every.ts'
import { withTimeout } from '../process/with-timeout.ts'
import { isRefusedWrite, type Redis } from '../redis/redis.ts'
import { ALARMS, PROCESSES, processKey } from '../redis/redis-keys.ts'
import type { Logger } from './logger.ts'
import { type LoopDelay, recordLoopDelay } from './loop-delay.ts'
import { createTrafficCounter } from './traffic.ts'

const EVERY_MS = 1_000
/** How often a process adds itself to the list: a Redis that lost its data has it again soon. */
const LISTED_EVERY_MS = 5_000
/** A process that sends no report for this long is gone. */
const LIFETIME_MS = 5_000
/** Exceeds the clock difference of any two machines. */
const FORGOTTEN_AFTER_MS = 600_000
const PROCESSES_MAX = 1_000

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** The values that only the process can report, read for each report. */
interface ProcessStats {
  inFlightCalls: number
  concurrency: number | null
}

/**
 * Reports the health, counts and alarms of one process to operators. They are kept in memory and written in one
 * pipeline a second, whatever the load. A failed report is dropped. Its counts and alarms stay for the next report, so
 * they count twice if Redis stored them and its response was lost.
 */
export type ProcessReport = ReturnType<typeof createProcessReport>

export function createProcessReport(
  role: ProcessView['role'],
  given: Logger,
  registry: Registry,
  clock: () => number = Date.now,
) {
  const id = newId('proc')
  const host = hostname()
  const startedAt = clock()
  const finished: Record<string, number> = {}
  const traffic = createTrafficCounter(clock)
  const alarmsTotal = new Counter({
    name: 'shuntyard_alarms_total',
    help: 'Alarms raised by this process.',
    labelNames: ['kind'],
    registers: [registry],
  })
  const alarms = createAlarmOutbox(clock, (kind) => alarmsTotal.inc({ kind }))
  let loopDelay: LoopDelay | null = null
  let lastError: ProcessView['last_error'] = null
  let report: (() => Promise<void>) | null = null
  let deregister: (() => Promise<unknown>) | null = null
  let stopPolling: () => void = () => undefined
  let listAt = 0

  const logger = watchLogger(given, (level, logged, message) => {
    alarms.add(logged, message)
    // Only the message, which is constant; the logged fields may contain text of clients.
    if (level === 'error' || level === 'fatal')
      lastError = { at: isoTime(clock()), message: message.slice(0, 200) }
  })

  const view = ({ inFlightCalls, concurrency }: ProcessStats): ProcessView => ({
    id,
    role,
    host,
    pid: process.pid,
    version,
    started_at: isoTime(startedAt),
    reported_at: isoTime(clock()),
    in_flight_calls: inFlightCalls,
    concurrency,
    finished,
    event_loop_delay_p99_ms: Math.round((loopDelay?.histogram.percentile(99) ?? 0) / 1e5) / 10,
    rss_bytes: process.memoryUsage.rss(),
    last_error: lastError,
  })

  return {
    /** The logger to use: it also records the last error and raises alarms. */
    logger,
    traffic,
    /** Counts finished pieces of work by their outcome. */
    finished(outcome: string, count = 1): void {
      finished[outcome] = (finished[outcome] ?? 0) + count
    },
    /** Starts reporting over a client owned by the caller. */
    start(redis: Redis, stats: () => ProcessStats): void {
      loopDelay = recordLoopDelay()
      report = async () => {
        const now = clock()
        const pipeline = redis.pipeline()
        pipeline.set(processKey(id), JSON.stringify(view(stats())), 'PX', LIFETIME_MS)
        if (now >= listAt) {
          listAt = now + LISTED_EVERY_MS
          pipeline.zadd(PROCESSES, now, id)
          pipeline.zremrangebyscore(PROCESSES, '-inf', now - FORGOTTEN_AFTER_MS)
        }
        const parts = [traffic.flush(pipeline), alarms.flush(pipeline)]
        loopDelay?.histogram.reset()
        const results = await pipeline.exec().catch(() => null)
        const failure = results === null ? new Error('redis is away') : results.find(([error]) => error)?.[0]
        for (const part of parts) part.done(!failure)
        if (failure) throw failure
      }
      deregister = () => redis.pipeline().del(processKey(id)).zrem(PROCESSES, id).exec()
      stopPolling = pollEvery(EVERY_MS, report, (error) => {
        if (isRefusedWrite(error))
          logger.error({ alarm: 'redis-refuses-writes', err: error }, 'redis refuses writes')
        else given.warn({ err: error }, 'this process could not report')
      })
    },
    /** Sends a last report, so that no count is lost, and removes the process from the list. */
    async stop(): Promise<void> {
      stopPolling()
      loopDelay?.stop()
      const reported = Promise.resolve(report?.().then(() => deregister?.()))
      await withTimeout<unknown>(reported, EVERY_MS, undefined)
    },
  }
}

/** The processes that reported recently, by role and age. Rejects while Redis is away. */
export async function readProcesses(redis: Redis): Promise<ProcessView[]> {
  const ids = await redis.zrevrange(PROCESSES, 0, PROCESSES_MAX - 1)
  if (ids.length === 0) return []
  const texts = await redis.mget(ids.map(processKey))
  return (
    texts
      // Only the reports of this file write these values.
      .flatMap((text) => (text === null ? [] : [JSON.parse(text) as ProcessView]))
      .sort((one, other) =>
        `${one.role} ${one.started_at}`.localeCompare(`${other.role} ${other.started_at}`),
      )
  )
}

const WATCHED = ['info', 'warn', 'error', 'fatal'] as const

type WatchedLevel = (typeof WATCHED)[number]

/** Called with each log line: the logged object and the message. Must not throw. */
type LogListener = (level: WatchedLevel, logged: unknown, message: string) => void

/**
 * Wraps a logger so that its lines also reach a listener, whatever level is written. Alarms are raised and ended by log
 * lines, so every alarm is logged and every logged alarm is recorded.
 */
function watchLogger(logger: Logger, listener: LogListener): Logger {
  const watched: Logger = Object.create(logger)
  for (const level of WATCHED) {
    const write = logger[level].bind(logger) as (...args: unknown[]) => void
    const watch = (...args: unknown[]) => {
      const [logged, message] = typeof args[0] === 'string' ? [null, args[0]] : [args[0], args[1]]
      listener(level, logged, typeof message === 'string' ? message : '')
      write(...args)
    }
    watched[level] = watch as LogFn
  }
  return watched
}

/** The number of kinds and subjects a process keeps until its next report. Beyond it, subjects are merged. */
const WAITING_MAX = 200
const OTHERS = 'others'
/** Approximate maximum of the stream, until PostgreSQL has its entries. */
const STREAM_MAX = 10_000

type Pipeline = ReturnType<Redis['pipeline']>

/**
 * The alarms of one process, counted in memory until the next report. Never blocks or throws. `raised` is called with
 * the kind of each alarm, for a metric.
 */
function createAlarmOutbox(clock: () => number, raised: (kind: string) => void) {
  let waiting = new Map<string, AlarmCount>()
  const add = (alarm: AlarmCount) => {
    const isRoom = waiting.size < WAITING_MAX || waiting.has(nameOf(alarm))
    const kept = isRoom ? alarm : { ...alarm, subject: OTHERS }
    waiting.set(nameOf(kept), addAlarms(waiting.get(nameOf(kept)), kept))
  }
  return {
    /** Records the alarms that the fields of a log line raise or end. */
    add(logged: unknown, message: string): void {
      for (const alarm of alarmsOf(logged, message)) {
        const now = clock()
        add({ ...alarm, count: alarm.isOver ? 0 : 1, firstAt: now, lastAt: now })
        if (!alarm.isOver) raised(alarm.kind)
      }
    },
    /** Adds the alarms to the pipeline; call `done` with whether Redis has stored them. */
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
