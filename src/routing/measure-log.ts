import { readFileSync } from 'node:fs'
import { bucketOf, type Counter, formatCounter, slotOf } from '../core/routing/measures.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { pollEvery } from '../platform/process/poll-every.ts'
import { withTimeout } from '../platform/process/with-timeout.ts'
import { defineScript, type Redis } from '../platform/redis/redis.ts'
import { healthMeasures } from '../platform/redis/redis-keys.ts'
import { SLOT_LIFETIME_MS } from './offer-measures.ts'

const SCRIPT = readFileSync(new URL('./add-measures.lua', import.meta.url), 'utf8')
const FLUSH_MS = 1_000
const CLOSE_WITHIN_MS = 500
/** Counters waiting here, and in one slot in Redis: hundreds of offers with dozens of buckets each. */
const WAITING_MAX = 10_000
const COUNTERS_MAX = 50_000

/** Gathers what attempts showed and tells the fleet once a second. No method ever rejects. */
export interface MeasureLog {
  ending(offerId: string, kind: 'success' | 'failure' | 'rate-limited'): void
  /** Milliseconds. */
  firstToken(offerId: string, firstTokenMs: number): void
  speed(offerId: string, tokensPerSecond: number): void
  close(): Promise<void>
}

export interface MeasureLogOptions {
  redis: Redis
  /** Unix milliseconds. */
  now: () => number
  logger: Logger
}

/** Opens the log of one worker. Measures are advice: a batch that Redis is not there to take is lost. */
export function createMeasureLog({ redis, now, logger }: MeasureLogOptions): MeasureLog {
  const script = defineScript(redis, 'syAddMeasures', SCRIPT)
  let waiting = new Map<string, number>()

  const add = (offerId: string, counter: Counter): void => {
    const field = formatCounter(offerId, counter)
    const count = waiting.get(field)
    if (count !== undefined || waiting.size < WAITING_MAX) waiting.set(field, (count ?? 0) + 1)
  }
  const flush = async (): Promise<void> => {
    if (waiting.size === 0) return
    const batch = waiting
    waiting = new Map()
    const dropped = await script(
      [healthMeasures(slotOf(now()))],
      [SLOT_LIFETIME_MS, COUNTERS_MAX, ...[...batch].flat()],
    )
    if (Number(dropped) > 0) logger.warn({ dropped }, 'measures of offers were dropped: too many counters')
  }
  const onFailure = (err: unknown) => logger.warn({ err }, 'measures of offers were lost')
  const stop = pollEvery(FLUSH_MS, flush, onFailure)

  return {
    ending: (offerId, kind) => add(offerId, { kind }),
    firstToken: (offerId, firstTokenMs) =>
      add(offerId, { kind: 'first-token', bucket: bucketOf(firstTokenMs) }),
    speed: (offerId, perSecond) => add(offerId, { kind: 'speed', bucket: bucketOf(perSecond) }),
    async close() {
      stop()
      await withTimeout(flush(), CLOSE_WITHIN_MS, undefined, onFailure)
    },
  }
}
