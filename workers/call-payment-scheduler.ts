import {
  type ReconcileCallPaymentsDependencies,
  reconcileCallPayments,
} from '../src/payments/per-call/reconcile-call-payments.ts'
import { type FleetJob, runOnOneProcess } from '../src/platform/redis/fleet-job.ts'
import type { Redis } from '../src/platform/redis/redis.ts'

/** A stream's payment is due when the stream has ended. */
const EVERY_MS = 2_000
/** Attempts that are under way then are made again by the next process, once they are overdue. */
const STOP_WITHIN_MS = 2_000

/** Settles and closes payments for single calls, on one process of the fleet. */
export function startCallPaymentScheduler(
  options: ReconcileCallPaymentsDependencies & { redis: Redis },
): FleetJob {
  const { redis, store, logger } = options
  return runOnOneProcess({
    redis,
    name: 'call-payments',
    everyMs: EVERY_MS,
    isDue: store.hasOpen,
    run: () => reconcileCallPayments(options),
    onFailure: (error) => logger.error({ err: error }, 'payments of calls could not be reconciled, retrying'),
    stopWithinMs: STOP_WITHIN_MS,
  })
}
