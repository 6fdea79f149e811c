import { ApiError } from '../core/kernel/errors.ts'

/** Bounds how many reports run at once, in all and for one key. */
export interface ReportSlots {
  /** Takes a slot; the returned function gives it back. Throws 429 or 503 when none is free. */
  take(keyId: string): () => void
}

/** Slots of one instance. */
export function createReportSlots(max: number, maxPerKey: number): ReportSlots {
  const taken = new Map<string, number>()
  let total = 0
  return {
    take(keyId) {
      const own = taken.get(keyId) ?? 0
      if (own >= maxPerKey) {
        throw new ApiError(
          'concurrency_limit_exceeded',
          'This key has reports running. Wait for one to end.',
          {
            retryAfterSeconds: 1,
          },
        )
      }
      if (total >= max) {
        throw new ApiError('overloaded', 'This gateway runs as many reports as it can. Retry shortly.', {
          retryAfterSeconds: 1,
        })
      }
      taken.set(keyId, own + 1)
      total += 1
      let given = false
      return () => {
        if (given) return
        given = true
        total -= 1
        const left = (taken.get(keyId) ?? 1) - 1
        if (left === 0) taken.delete(keyId)
        else taken.set(keyId, left)
      }
    },
  }
}
