const MINUTE_MS = 60_000
const MAX_KEYS = 10_000

/** The limits of keys at simulated providers: so many requests in a minute, which begins with the first. */
export function createKeyLimits(now: () => number = Date.now) {
  const windows = new Map<string, { used: number; endsAt: number }>()
  return {
    /** Counts a request of a key. Returns whether it is within the limit, and the headers of its response. */
    take(key: string, limit: number): { isWithin: boolean; headers: Record<string, string> } {
      let window = windows.get(key)
      if (!window || window.endsAt <= now()) {
        if (windows.size >= MAX_KEYS) windows.clear()
        window = { used: 0, endsAt: now() + MINUTE_MS }
        windows.set(key, window)
      }
      const isWithin = window.used < limit
      if (isWithin) window.used++
      const resetMs = window.endsAt - now()
      const headers = {
        'x-ratelimit-limit-requests': String(limit),
        'x-ratelimit-remaining-requests': String(limit - window.used),
        'x-ratelimit-reset-requests': `${resetMs}ms`,
        ...(!isWithin && {
          'retry-after': String(Math.ceil(resetMs / 1_000)),
          'retry-after-ms': String(resetMs),
        }),
      }
      return { isWithin, headers }
    },
  }
}
