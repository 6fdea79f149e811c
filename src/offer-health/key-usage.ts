import { MINUTE_MS } from '../core/kernel/time.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { healthKeyUsage } from '../platform/redis/redis-keys.ts'

/** A key with the most that operators let it be used for in a calendar minute; null or absent: not limited. */
export interface LimitedKey {
  id: string
  requestsPerMinute?: number | null
  tokensPerMinute?: number | null
}

interface Count {
  /** The fleet's, as known here. */
  fleet: number
  /** This process's since then. */
  added: number
}

export const hasLimits = ({ requestsPerMinute, tokensPerMinute }: LimitedKey): boolean =>
  (requestsPerMinute ?? null) !== null || (tokensPerMinute ?? null) !== null

/**
 * What keys with limits were used for in this minute. A process counts its own calls at once and those of the others once a
 * second, so that a fleet may exceed a limit by what its processes use within a second. Times are the fleet's.
 */
export class KeyUsage {
  readonly #redis: Pick<Redis, 'pipeline'>
  readonly #now: () => number
  #minute = 0
  #counts = new Map<string, Count>()

  constructor(redis: Pick<Redis, 'pipeline'>, now: () => number) {
    this.#redis = redis
    this.#now = now
  }

  /** Counts a use of a key; one without limits costs nothing. */
  add(providerId: string, key: LimitedKey, { requests = 0, tokens = 0 }): void {
    if (!hasLimits(key)) return
    this.#turn()
    for (const [what, count] of Object.entries({ requests, tokens })) {
      if (count === 0) continue
      const field = `${providerId} ${key.id} ${what}`
      const known = this.#counts.get(field) ?? { fleet: 0, added: 0 }
      known.added += count
      this.#counts.set(field, known)
    }
  }

  /** Milliseconds until a key may be used again; 0: now. */
  backMs(providerId: string, key: LimitedKey): number {
    if (!hasLimits(key)) return 0
    this.#turn()
    const isSpent = (what: string, limit: number | null = null) => {
      const count = this.#counts.get(`${providerId} ${key.id} ${what}`)
      return limit !== null && count !== undefined && count.fleet + count.added >= limit
    }
    const isOver = isSpent('requests', key.requestsPerMinute) || isSpent('tokens', key.tokensPerMinute)
    return isOver ? (this.#minute + 1) * MINUTE_MS - this.#now() : 0
  }

  /** Adds this process's counts to the fleet's, and reads those. Rejects when Redis does; what was sent may be lost. */
  async flush(): Promise<void> {
    this.#turn()
    const sent = [...this.#counts].filter(([, { added }]) => added > 0)
    if (sent.length === 0) return
    const hash = healthKeyUsage(this.#minute)
    const pipeline = this.#redis.pipeline()
    for (const [field, count] of sent) {
      pipeline.hincrby(hash, field, count.added)
      count.fleet += count.added
      count.added = 0
    }
    const replies = await pipeline.pexpire(hash, 2 * MINUTE_MS).exec()
    for (const [index, [, count]] of sent.entries()) {
      const [error, total] = replies?.[index] ?? [null, null]
      if (!error && typeof total === 'number') count.fleet = Math.max(count.fleet, total)
    }
  }

  #turn(): void {
    const minute = Math.floor(this.#now() / MINUTE_MS)
    if (minute === this.#minute) return
    this.#minute = minute
    this.#counts = new Map()
  }
}
