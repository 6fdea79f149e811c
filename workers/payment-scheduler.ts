import { Counter, Gauge, type Registry } from 'prom-client'
import { type ReconcileDependencies, reconcilePayments } from '../src/payments/reconcile-payments.ts'
import { type ReturnsDependencies, reconcileReturns } from '../src/payments/reconcile-returns.ts'
import { type AutoTopUpDependencies, runAutoTopUps } from '../src/payments/run-auto-top-ups.ts'
import { type FleetJob, runOnOneProcess } from '../src/platform/redis/fleet-job.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import { RETURNS_NEXT_AT } from '../src/platform/redis/redis-keys.ts'

const LOOK_MS = 60_000
const HOUR_MS = 3_600_000
const RETURNS_EVERY_MS = 24 * HOUR_MS
/** After a run that could not read everything. */
const TRY_AGAIN_MS = HOUR_MS
/** Webhooks of what is younger are on their way. */
const WEBHOOK_MS = HOUR_MS
/** What a run that was stopped had not come to is done by the next. */
const STOP_WITHIN_MS = 2_000

/**
 * Reconciles refunds and disputes with the rails once a day, on one process of the fleet. When the next run is due
 * stands in Redis; without it, it is due.
 */
export function startReturnsScheduler(
  options: ReturnsDependencies & {
    redis: Redis
    registry: Registry
    clock: () => number
    lookMs?: number
  },
): FleetJob {
  const { redis, rails, logger, clock, lookMs = LOOK_MS } = options
  const metrics = createReturnsMetrics(options.registry)
  return runOnOneProcess({
    redis,
    name: 'payment-returns',
    everyMs: lookMs,
    firstAfterMs: lookMs,
    isDue: async () => rails.size > 0 && Number((await redis.get(RETURNS_NEXT_AT)) ?? 0) <= clock(),
    async run(stopping) {
      const { missed, unknownPayments, ...counts } = await reconcileReturns(
        options,
        clock() - WEBHOOK_MS,
        stopping,
      )
      if (stopping.aborted) return
      metrics.missed.inc(missed.length)
      const isComplete = counts.failures === 0
      if (isComplete) metrics.lastRun.set(clock() / 1000)
      await redis.set(RETURNS_NEXT_AT, clock() + (isComplete ? RETURNS_EVERY_MS : TRY_AGAIN_MS))
      logger.info(
        { ...counts, missed: missed.length, unknownPayments: unknownPayments.length },
        'refunds and disputes reconciled with the rails',
      )
    },
    onFailure: (error) => logger.warn({ err: error }, 'refunds and disputes cannot be reconciled right now'),
    stopWithinMs: STOP_WITHIN_MS,
  })
}

function createReturnsMetrics(registry: Registry) {
  return {
    missed: new Counter({
      name: 'switchyard_payment_webhooks_missed_total',
      help: 'Payments whose refund or dispute no webhook had reported. Alert on any growth.',
      registers: [registry],
    }),
    lastRun: new Gauge({
      name: 'switchyard_payment_returns_reconciled_timestamp_seconds',
      help: 'When this process last reconciled refunds and disputes with all rails, unix seconds; 0: not since its start.',
      registers: [registry],
    }),
  }
}

const PAYMENTS_EVERY_MS = 30_000

/** Finishes what payment webhooks left open, every half minute, on one process of the fleet. */
export function startPaymentScheduler(options: ReconcileDependencies & { redis: Redis }): FleetJob {
  const { redis, logger } = options
  return runOnOneProcess({
    redis,
    name: 'payments',
    everyMs: PAYMENTS_EVERY_MS,
    async run() {
      const report = await reconcilePayments(options)
      if (Object.values(report).some((count) => count > 0)) logger.info(report, 'payments reconciled')
    },
    onFailure: (error) => logger.error({ err: error }, 'payments could not be reconciled; tried again'),
  })
}

const AUTO_TOP_UPS_EVERY_MS = 5_000

/** Tops up accounts whose balance fell below their threshold, on one process of the fleet. */
export function startAutoTopUpScheduler(
  options: AutoTopUpDependencies & { redis: Redis; everyMs?: number },
): FleetJob {
  const { redis, logger, everyMs = AUTO_TOP_UPS_EVERY_MS } = options
  return runOnOneProcess({
    redis,
    name: 'auto-top-ups',
    everyMs,
    async run() {
      const report = await runAutoTopUps(options)
      if (Object.values(report).some((count) => count > 0)) logger.info(report, 'automatic top-ups made')
    },
    onFailure: (error) => logger.error({ err: error }, 'automatic top-ups cannot be made; tried again'),
  })
}
