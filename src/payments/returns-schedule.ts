import { Counter, Gauge, type Registry } from 'prom-client'
import { HOUR_MS } from '../core/kernel/time.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { RETURNS_NEXT_AT, RETURNS_PROVEN_UNTIL } from '../platform/redis/redis-keys.ts'
import { type ReturnsDependencies, reconcileReturns, spansSince } from './reconcile-returns.ts'

const EVERY_MS = 24 * HOUR_MS
/** Interval after an incomplete run. */
const TRY_AGAIN_MS = HOUR_MS
/** The webhooks of younger refunds may still arrive. */
const WEBHOOK_MS = HOUR_MS

/**
 * Reconciles refunds and disputes with the rails once a day. Redis has the time of the next run; without it, a run is
 * due. It also has the end of the last complete run, where the next one begins; without it, everything is listed.
 */
export function createReturnsSchedule(
  options: ReturnsDependencies & { redis: Redis; registry: Registry; clock: () => number },
) {
  const { redis, rails, logger, clock } = options
  const metrics = createReturnsMetrics(options.registry)
  return {
    isDue: async () => rails.size > 0 && Number((await redis.get(RETURNS_NEXT_AT)) ?? 0) <= clock(),
    async run(stopping: AbortSignal) {
      const untilMs = clock() - WEBHOOK_MS
      const provenText = await redis.get(RETURNS_PROVEN_UNTIL)
      const spans = spansSince(provenText === null ? null : Number(provenText), untilMs)
      const { missed, unknownPayments, ...counts } = await reconcileReturns(options, spans, stopping)
      if (stopping.aborted) return
      metrics.missed.inc(missed.length)
      const isComplete = counts.failures === 0
      if (isComplete) {
        metrics.lastRun.set(clock() / 1000)
        await redis.set(RETURNS_PROVEN_UNTIL, untilMs)
      }
      await redis.set(RETURNS_NEXT_AT, clock() + (isComplete ? EVERY_MS : TRY_AGAIN_MS))
      logger.info(
        { ...counts, missed: missed.length, unknownPayments: unknownPayments.length },
        'refunds and disputes reconciled with the rails',
      )
    },
  }
}

function createReturnsMetrics(registry: Registry) {
  return {
    missed: new Counter({
      name: 'shuntyard_payment_webhooks_missed_total',
      help: 'Payments whose refund or dispute no webhook had reported. Alert on any growth.',
      registers: [registry],
    }),
    lastRun: new Gauge({
      name: 'shuntyard_payment_returns_reconciled_timestamp_seconds',
      help: 'When this process last reconciled refunds and disputes with all rails, unix seconds; 0: not since its start.',
      registers: [registry],
    }),
  }
}
