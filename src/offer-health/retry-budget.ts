import type { Logger } from '../platform/observability/logger.ts'
import { pollEvery } from '../platform/process/poll-every.ts'
import { withTimeout } from '../platform/process/with-timeout.ts'
import { readScript } from '../platform/redis/read-script.ts'
import { defineScript, type Redis } from '../platform/redis/redis.ts'
import { RETRY_BUDGET } from '../platform/redis/redis-keys.ts'

/** Attempts beyond the first are limited across the fleet, so that an upstream incident does not multiply requests. */
export interface RetryBudgetLimits {
  /** Retries per hundred calls. */
  percent: number
  /** Retries per window that are always allowed, so that a quiet gateway can still fail over. */
  floor: number
}

export const RETRY_BUDGET_WINDOW_MS = 10_000

/** The number of retries that the calls of a window allow. */
export function retriesAllowed(calls: number, limits: RetryBudgetLimits): number {
  return Math.max(limits.floor, Math.floor((calls * limits.percent) / 100))
}

/** Counts events over the last `windowMs`, in whole buckets, with the clock as an argument. */
export class RollingCount {
  readonly #bucketMs: number
  readonly #buckets: number
  readonly #counts = new Map<number, number>()

  constructor(windowMs: number, buckets = 10) {
    this.#bucketMs = windowMs / buckets
    this.#buckets = buckets
  }

  add(nowMs: number, count = 1): void {
    const bucket = Math.floor(nowMs / this.#bucketMs)
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count)
    if (this.#counts.size > this.#buckets * 2) this.#prune(bucket)
  }

  total(nowMs: number): number {
    const bucket = Math.floor(nowMs / this.#bucketMs)
    this.#prune(bucket)
    let total = 0
    for (const count of this.#counts.values()) total += count
    return total
  }

  #prune(bucket: number): void {
    for (const old of this.#counts.keys()) {
      if (old <= bucket - this.#buckets) this.#counts.delete(old)
    }
  }
}

const SCRIPT = readScript(import.meta.url, './retry-budget.lua')
const FLUSH_MS = 1_000
/** Requested only after a failure, and only Redis knows the fleet's budget, so it is worth the wait. */
const ANSWER_WITHIN_MS = 1_000
const CLOSE_WITHIN_MS = 250

export interface RetryBudgetOptions {
  redis: Redis
  limits: RetryBudgetLimits
  /** Unix milliseconds. */
  now: () => number
  logger: Logger
}

export type RetryBudget = ReturnType<typeof createRetryBudget>

/**
 * The fleet's budget of attempts beyond the first, kept in Redis. Without Redis, retries are limited by this process's
 * own share of calls.
 */
export function createRetryBudget({ redis, limits, now, logger }: RetryBudgetOptions) {
  const script = defineScript(redis, 'syRetryBudget', SCRIPT)
  const ownCalls = new RollingCount(RETRY_BUDGET_WINDOW_MS)
  const ownRetries = new RollingCount(RETRY_BUDGET_WINDOW_MS)
  let uncounted = 0

  const run = async (asks: boolean): Promise<boolean> => {
    const calls = uncounted
    uncounted = 0
    const granted = await script(
      [RETRY_BUDGET],
      [now(), RETRY_BUDGET_WINDOW_MS, calls, asks ? 1 : 0, limits.percent, limits.floor],
    )
    return granted === 1
  }
  const report = (err: unknown) => logger.warn({ err }, 'retry budget unavailable')
  // Without the floor, which is for the whole fleet, so that a failure of Redis gives fewer retries.
  const ownEstimate = (): boolean =>
    ownRetries.total(now()) < retriesAllowed(ownCalls.total(now()), { percent: limits.percent, floor: 0 })

  const flush = async () => {
    if (uncounted > 0) await run(false)
  }
  const stopFlushing = pollEvery(FLUSH_MS, flush, report)

  return {
    /** Counts a call; sent to the fleet in batches. */
    countCall(): void {
      uncounted++
      ownCalls.add(now())
    },
    /** Whether one more retry is within the budget, in which case it is spent. Never rejects. */
    async ask(): Promise<boolean> {
      const granted =
        (await withTimeout<boolean | null>(run(true), ANSWER_WITHIN_MS, null, report)) ?? ownEstimate()
      if (granted) ownRetries.add(now())
      return granted
    },
    async close(): Promise<void> {
      // Counts that Redis did not accept are lost with the process.
      await withTimeout(stopFlushing(), CLOSE_WITHIN_MS, undefined)
    },
  }
}
