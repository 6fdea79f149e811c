import { setTimeout as delay } from 'node:timers/promises'
import { Counter, Gauge, type Registry } from 'prom-client'
import { type ReturnsDependencies, reconcileReturns } from '../src/payments/reconcile-returns.ts'
import { pollEvery } from '../src/platform/process/poll-every.ts'
import { inOneProcess } from '../src/platform/redis/fleet-lock.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import { RETURNS_NEXT_AT } from '../src/platform/redis/redis-keys.ts'

export interface ReturnsSchedulerOptions extends ReturnsDependencies {
  redis: Redis
  registry: Registry
  clock: () => number
  lookMs?: number
}

/** Reconciles refunds and disputes with the rails once a day, in one process of the fleet. */
export interface ReturnsScheduler {
  /** Gives a run a moment; what it had not come to is done by the next. */
  stop(): Promise<void>
}

const LOOK_MS = 60_000
const HOUR_MS = 3_600_000
const EVERY_MS = 24 * HOUR_MS
/** After a run that could not read everything. */
const TRY_AGAIN_MS = HOUR_MS
/** Webhooks of what is younger are on their way. */
const WEBHOOK_MS = HOUR_MS
const STOP_WITHIN_MS = 2_000

/** When the next run is due stands in Redis; without it, it is due. */
export function startReturnsScheduler(options: ReturnsSchedulerOptions): ReturnsScheduler {
  const { redis, rails, logger, clock, lookMs = LOOK_MS } = options
  const metrics = createReturnsMetrics(options.registry)
  const stopping = new AbortController()
  let running: Promise<void> = Promise.resolve()

  const isDue = async (): Promise<boolean> => Number((await redis.get(RETURNS_NEXT_AT)) ?? 0) <= clock()

  const run = async (): Promise<void> => {
    const { missed, ...counts } = await reconcileReturns(options, clock() - WEBHOOK_MS, stopping.signal)
    if (stopping.signal.aborted) return
    metrics.missed.inc(missed.length)
    const isComplete = counts.failures === 0
    if (isComplete) metrics.lastRun.set(clock() / 1000)
    await redis.set(RETURNS_NEXT_AT, clock() + (isComplete ? EVERY_MS : TRY_AGAIN_MS))
    logger.info({ ...counts, missed: missed.length }, 'refunds and disputes reconciled with the rails')
  }

  const look = async (): Promise<void> => {
    if (rails.size === 0 || !(await isDue())) return
    await inOneProcess(redis, 'payment-returns', async () => {
      if (await isDue()) await run()
    })
  }
  const stopLooking = pollEvery(
    lookMs,
    () => {
      running = look()
      return running
    },
    (error) => logger.warn({ err: error }, 'refunds and disputes cannot be reconciled right now'),
  )
  return {
    async stop() {
      stopLooking()
      stopping.abort()
      await Promise.race([running.catch(() => undefined), delay(STOP_WITHIN_MS, undefined, { ref: false })])
    },
  }
}

function createReturnsMetrics(registry: Registry) {
  return {
    missed: new Counter({
      name: 'switchyard_payment_webhooks_missed_total',
      help: 'Payments whose refund or dispute no webhook had told of. Alert on any growth.',
      registers: [registry],
    }),
    lastRun: new Gauge({
      name: 'switchyard_payment_returns_reconciled_timestamp_seconds',
      help: 'When this process last reconciled refunds and disputes with all rails, unix seconds; 0: not since its start.',
      registers: [registry],
    }),
  }
}
