import { DAY_MS, MINUTE_MS, monthStartMs, nextMonthMs } from '../core/kernel/time.ts'
import type { PoolKeyLimits } from '../core/routing/key-pool.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { healthKeyUsage } from '../platform/redis/redis-keys.ts'

const LIMITS = [
  { name: 'requestsPerMinute', span: 'minute', what: 'requests', unit: 1 },
  { name: 'tokensPerMinute', span: 'minute', what: 'tokens', unit: 1 },
  { name: 'usdPerDay', span: 'day', what: 'costPico', unit: 1e12 },
  { name: 'usdPerMonth', span: 'month', what: 'costPico', unit: 1e12 },
] as const satisfies ReadonlyArray<{ name: keyof PoolKeyLimits; span: string; what: string; unit: number }>
type Limit = (typeof LIMITS)[number]

export interface LimitedKey extends Partial<PoolKeyLimits> {
  id: string
}

/** What a key was used for. The cost is at the provider's price, pico-USD. */
export type PoolKeyUse = Partial<Record<Limit['what'], number>>

/** Start and end of the span of a time, unix ms. */
const SPANS = {
  minute: (now: number) => spanOf(Math.floor(now / MINUTE_MS) * MINUTE_MS, MINUTE_MS),
  day: (now: number) => spanOf(Math.floor(now / DAY_MS) * DAY_MS, DAY_MS),
  month: (now: number) => ({ startMs: monthStartMs(now), endMs: nextMonthMs(now) }),
}
const spanOf = (startMs: number, lengthMs: number) => ({ startMs, endMs: startMs + lengthMs })

interface Count {
  /** The fleet's, as known here. */
  fleet: number
  /** This process's since then. */
  added: number
  isRead: boolean
}

interface Span {
  startMs: number
  endMs: number
  counts: Map<string, Count>
}

export const hasLimits = (key: LimitedKey): boolean => LIMITS.some(({ name }) => (key[name] ?? null) !== null)

/**
 * What keys with limits were used for. A process counts its own calls at once and those of the others once a second, so that a
 * fleet may exceed a limit by what its processes use within a second, and by calls in flight. Times are the fleet's.
 */
export class KeyUsage {
  readonly #redis: Pick<Redis, 'pipeline'>
  readonly #now: () => number
  readonly #spans = new Map<Limit['span'], Span>()

  constructor(redis: Pick<Redis, 'pipeline'>, now: () => number) {
    this.#redis = redis
    this.#now = now
  }

  /** Counts a use of a key; one without limits costs nothing. */
  add(providerId: string, key: LimitedKey, use: PoolKeyUse): void {
    for (const { name, span, what } of LIMITS)
      if (key[name] != null && use[what])
        this.#count(span, `${providerId} ${key.id} ${what}`).added += use[what]
  }

  /** Milliseconds until a key may be used again; 0: now. */
  backMs(providerId: string, key: LimitedKey): number {
    let backAt = 0
    for (const { name, span, what, unit } of LIMITS) {
      const limit = key[name]
      if (limit == null) continue
      const { fleet, added } = this.#count(span, `${providerId} ${key.id} ${what}`)
      if (fleet + added >= limit * unit) backAt = Math.max(backAt, this.#span(span).endMs)
    }
    return backAt && backAt - this.#now()
  }

  /** Adds this process's counts to the fleet's, and reads those. Rejects when Redis does; what was sent may be lost. */
  async flush(): Promise<void> {
    const due = [...this.#spans.keys()].flatMap((name) => {
      const { startMs, endMs, counts } = this.#span(name)
      const at = { hash: healthKeyUsage(name, startMs), keptMs: endMs - startMs + MINUTE_MS }
      return [...counts].flatMap(([field, count]) =>
        count.added > 0 || !count.isRead ? { ...at, field, count } : [],
      )
    })
    if (due.length === 0) return
    const pipeline = this.#redis.pipeline()
    for (const { hash, field, count } of due) {
      pipeline.hincrby(hash, field, count.added)
      count.fleet += count.added
      count.added = 0
    }
    for (const [hash, keptMs] of new Map(due.map(({ hash, keptMs }) => [hash, keptMs])))
      pipeline.pexpire(hash, keptMs)
    const replies = await pipeline.exec()
    for (const [index, { count }] of due.entries()) {
      const [error, total] = replies?.[index] ?? [null, null]
      if (error || typeof total !== 'number') continue
      count.fleet = Math.max(count.fleet, total)
      count.isRead = true
    }
  }

  #count(span: Limit['span'], field: string): Count {
    const { counts } = this.#span(span)
    const known = counts.get(field)
    if (known) return known
    const count = { fleet: 0, added: 0, isRead: false }
    counts.set(field, count)
    return count
  }

  #span(name: Limit['span']): Span {
    const known = this.#spans.get(name)
    const now = this.#now()
    if (known && now < known.endMs) return known
    const span = { ...SPANS[name](now), counts: new Map() }
    this.#spans.set(name, span)
    return span
  }
}
