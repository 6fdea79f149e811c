/** Attempts beyond the first are bounded across the fleet, so that an upstream incident is not multiplied. */
export interface RetryBudgetLimits {
  /** Retries per hundred calls. */
  percent: number
  /** Retries per window that are always allowed, so that a quiet gateway can still fail over. */
  floor: number
}

export const RETRY_BUDGET_WINDOW_MS = 10_000

/** How many retries the calls of a window allow. */
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
