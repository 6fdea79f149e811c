import { setTimeout as delay } from 'node:timers/promises'
import {
  type CloseCallPaymentsDependencies,
  closeCallPayments,
} from '../src/payments/x402/close-call-payments.ts'
import { type SettleDueDependencies, settleDuePayments } from '../src/payments/x402/settle-due-payments.ts'
import { pollEvery } from '../src/platform/process/poll-every.ts'
import { runOnOneProcess } from '../src/platform/redis/fleet-job.ts'
import type { Redis } from '../src/platform/redis/redis.ts'

/** A stream's payment is due when the stream has ended. */
const SETTLE_EVERY_MS = 1_000
const CLOSE_EVERY_MS = 2_000
/** Attempts that are under way then are made again by another process, once they are overdue. */
const STOP_WITHIN_MS = 2_000

/** Settles payments for single calls, in every settlement process, and closes them, on one of the fleet. */
export function startCallPaymentScheduler(
  options: SettleDueDependencies & CloseCallPaymentsDependencies & { redis: Redis },
): { stop(): Promise<void> } {
  const { redis, store, logger } = options
  const stopping = new AbortController()
  const stopSettling = pollEvery(
    SETTLE_EVERY_MS,
    () => settleDuePayments(options, stopping.signal),
    (error) => logger.error({ err: error }, 'payments of calls cannot be settled, retrying'),
  )
  const closing = runOnOneProcess({
    redis,
    name: 'call-payments',
    everyMs: CLOSE_EVERY_MS,
    isDue: store.hasOpen,
    run: (signal) => closeCallPayments(options, signal),
    onFailure: (error) => logger.error({ err: error }, 'payments of calls cannot be closed, retrying'),
    stopWithinMs: STOP_WITHIN_MS,
  })
  return {
    async stop() {
      stopping.abort()
      const settled = Promise.race([stopSettling(), delay(STOP_WITHIN_MS, undefined, { ref: false })])
      await Promise.all([settled, closing.stop()])
    },
  }
}
