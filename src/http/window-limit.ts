import { LRUCache } from 'lru-cache'
import { ApiError } from '../core/kernel/errors.ts'

const HOLDERS_REMEMBERED = 10_000

export interface WindowLimitOptions {
  max: number
  windowMs: number
  /** The message of the 429. */
  refusal: string
  clock: () => number
}

/** Limits how often an owner may do something in a period, in the memory of this instance. */
export function createWindowLimit({ max, windowMs, refusal, clock }: WindowLimitOptions) {
  const counted = new LRUCache<string, { count: number; endsAtMs: number }>({ max: HOLDERS_REMEMBERED })
  const current = (holder: string) => {
    const found = counted.get(holder)
    const leftMs = found ? found.endsAtMs - clock() : 0
    // More than a window remains if the clock was set back.
    return found && leftMs > 0 && leftMs <= windowMs ? found : { count: 0, endsAtMs: clock() + windowMs }
  }
  /** Throws ApiError 429 if the owner has reached the limit. */
  const check = (holder: string): void => {
    const { count, endsAtMs } = current(holder)
    if (count >= max)
      throw new ApiError('rate_limit_exceeded', refusal, { retryAfterSeconds: (endsAtMs - clock()) / 1000 })
  }
  const count = (holder: string): void => {
    const { count: before, endsAtMs } = current(holder)
    counted.set(holder, { count: before + 1, endsAtMs })
  }
  return {
    check,
    count,
    /** Counts it, or throws like `check`. */
    take(holder: string): void {
      check(holder)
      count(holder)
    },
  }
}
