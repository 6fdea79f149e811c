import { type ReconcileDependencies, reconcilePayments } from '../src/payments/reconcile-payments.ts'
import { type FleetJob, runOnOneProcess } from '../src/platform/redis/fleet-job.ts'
import type { Redis } from '../src/platform/redis/redis.ts'

const EVERY_MS = 30_000

/** Finishes what payment webhooks left open, every half minute, on one process of the fleet. */
export function startPaymentScheduler(options: ReconcileDependencies & { redis: Redis }): FleetJob {
  const { redis, logger } = options
  return runOnOneProcess({
    redis,
    name: 'payments',
    everyMs: EVERY_MS,
    async run() {
      const report = await reconcilePayments(options)
      if (Object.values(report).some((count) => count > 0)) logger.info(report, 'payments reconciled')
    },
    onFailure: (error) => logger.error({ err: error }, 'payments could not be reconciled; tried again'),
  })
}
