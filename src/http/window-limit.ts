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

/** How often a holder may do something within a window of time, in the memory of this instance. */
export function createWindowLimit({ max, windowMs, refusal, clock }: WindowLimitOptions) {
  const counted = new LRUCache<string, { count: number; endsAtMs: number }>({ max: HOLDERS_REMEMBERED })
  const current = (holder: string) => {
    const found = counted.get(holder)
    const leftMs = found ? found.endsAtMs - clock() : 0
    // More than a window is left where the clock was put back.
    return found && leftMs > 0 && leftMs <= windowMs ? found : { count: 0, endsAtMs: clock() + windowMs }
  }
  /** Throws ApiError 429 where the holder has none left. */
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
    /** Counts it, or throws as `check` does. */
    take(holder: string): void {
      check(holder)
      count(holder)
    },
  }
}
