import type { Usage } from '../core/calls/usage.ts'
import { type CacheUse, LEAST_CACHED_TOKENS } from '../core/routing/likely-cost.ts'
import {
  addCount,
  bucketOf,
  type Counter,
  cacheUseOf,
  emptyCounts,
  formatCounter,
  type OfferStats,
  parseCounter,
  SLOT_MS,
  SLOTS_KEPT,
  type SlotCounts,
  slotOf,
  statsOf,
} from '../core/routing/measures.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { pollEvery } from '../platform/process/poll-every.ts'
import { withTimeout } from '../platform/process/with-timeout.ts'
import { readScript } from '../platform/redis/read-script.ts'
import { defineScript, type Redis } from '../platform/redis/redis.ts'
import { healthMeasures } from '../platform/redis/redis-keys.ts'

/** How long after its end a slot is still read, because its last counts may be late. */
const LATE_MS = 5_000

export interface OfferMeasuresOptions {
  redis: Redis
  /** Unix milliseconds. */
  now: () => number
  logger: Pick<Logger, 'warn'>
  /** Default 2,000. */
  pollMs?: number
}

/** Counts of one slot by offer id. */
type Slot = Map<string, SlotCounts>

/** The fleet's measurements of offers, as followed by one process. Reading costs no round trip. */
export type OfferMeasures = Awaited<ReturnType<typeof followOfferMeasures>>

/** Starts following: reads the stored slots once, then the current slot repeatedly. Rejects when Redis does. */
export async function followOfferMeasures(options: OfferMeasuresOptions) {
  const { redis, now, logger, pollMs = 2_000 } = options
  const slots = new Map<number, Slot>()
  /** Computed on demand, once between two readings. */
  const stats = new Map<string, OfferStats>()
  const cacheUses = new Map<string, CacheUse | undefined>()

  const read = async (first: number, last: number): Promise<void> => {
    const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index)
    const hashes = await Promise.all(numbers.map((slot) => redis.hgetall(healthMeasures(slot))))
    for (const [index, slot] of numbers.entries()) slots.set(slot, parseSlot(hashes[index]!))
    for (const slot of slots.keys()) if (slot <= last - SLOTS_KEPT) slots.delete(slot)
    stats.clear()
    cacheUses.clear()
  }
  let readUntil = slotOf(now()) - SLOTS_KEPT
  const readOn = async (): Promise<void> => {
    const last = slotOf(now())
    const first = Math.max(last - SLOTS_KEPT + 1, Math.min(readUntil, slotOf(now() - LATE_MS)))
    await read(first, last)
    readUntil = last
  }

  await readOn()
  const stop = pollEvery(pollMs, readOn, (error) =>
    logger.warn({ err: error }, 'offer measurements read failed'),
  )
  return {
    stats(offerId: string) {
      const known = stats.get(offerId)
      if (known) return known
      const found = statsOf(slotsOf(offerId, slots), now())
      stats.set(offerId, found)
      return found
    },
    /** How its prompt cache was used; undefined if no call shows it. */
    cacheUse(offerId: string) {
      if (!cacheUses.has(offerId)) cacheUses.set(offerId, cacheUseOf(slotsOf(offerId, slots), now()))
      return cacheUses.get(offerId)
    },
    stop,
  }
}

function* slotsOf(offerId: string, slots: ReadonlyMap<number, Slot>): Generator<[number, SlotCounts]> {
  for (const [number, slot] of slots) {
    const counts = slot.get(offerId)
    if (counts) yield [number, counts]
  }
}

/** Parses a slot's hash. Unreadable counts are ignored, because measurements are only advice. */
function parseSlot(hash: Record<string, string>): Slot {
  const slot: Slot = new Map()
  for (const [field, text] of Object.entries(hash)) {
    const parsed = parseCounter(field)
    const count = Number(text)
    if (!parsed || !Number.isSafeInteger(count) || count < 1) continue
    let counts = slot.get(parsed.offerId)
    if (!counts) {
      counts = emptyCounts()
      slot.set(parsed.offerId, counts)
    }
    addCount(counts, parsed.counter, count)
  }
  return slot
}

/** How long a slot's hash is kept in Redis after its last change. */
export const SLOT_LIFETIME_MS = (SLOTS_KEPT + 1) * SLOT_MS

const SCRIPT = readScript(import.meta.url, './add-measures.lua')
const FLUSH_MS = 1_000
const CLOSE_WITHIN_MS = 500
/** Maximum counters waiting here, and in one slot in Redis: hundreds of offers with dozens of buckets each. */
const WAITING_MAX = 10_000
const COUNTERS_MAX = 50_000

export interface MeasureLogOptions {
  redis: Redis
  /** Unix milliseconds. */
  now: () => number
  logger: Logger
}

/** Collects measurements of attempts and adds them to the fleet's once a second. No method ever rejects. */
export type MeasureLog = ReturnType<typeof createMeasureLog>

/** Opens the log of one worker. A batch that Redis does not accept is lost, because measurements are only advice. */
export function createMeasureLog({ redis, now, logger }: MeasureLogOptions) {
  const script = defineScript(redis, 'syAddMeasures', SCRIPT)
  let waiting = new Map<string, number>()

  const add = (offerId: string, counter: Counter, by = 1): void => {
    if (by === 0) return
    const field = formatCounter(offerId, counter)
    const count = waiting.get(field)
    if (count !== undefined || waiting.size < WAITING_MAX) waiting.set(field, (count ?? 0) + by)
  }
  const flush = async (): Promise<void> => {
    if (waiting.size === 0) return
    const batch = waiting
    waiting = new Map()
    const dropped = await script(
      [healthMeasures(slotOf(now()))],
      [SLOT_LIFETIME_MS, COUNTERS_MAX, ...[...batch].flat()],
    )
    if (Number(dropped) > 0) logger.warn({ dropped }, 'offer measurements dropped, too many counters')
  }
  const onFailure = (err: unknown) => logger.warn({ err }, 'offer measurements lost')
  const stop = pollEvery(FLUSH_MS, flush, onFailure)

  return {
    ending: (offerId: string, kind: 'success' | 'failure' | 'rate-limited') => add(offerId, { kind }),
    /** Milliseconds. */
    firstToken: (offerId: string, firstTokenMs: number) =>
      add(offerId, { kind: 'first-token', bucket: bucketOf(firstTokenMs) }),
    speed: (offerId: string, perSecond: number) =>
      add(offerId, { kind: 'speed', bucket: bucketOf(perSecond) }),
    /** What of a prompt was read from a cache and written to it, if it was long enough for one. */
    cacheUse(offerId: string, { promptTokens, cachedTokens = 0, cacheWriteTokens = 0 }: Usage) {
      if (promptTokens < LEAST_CACHED_TOKENS) return
      add(offerId, { kind: 'promptTokens' }, promptTokens)
      add(offerId, { kind: 'readTokens' }, cachedTokens)
      add(offerId, { kind: 'writtenTokens' }, cacheWriteTokens)
    },
    async close() {
      stop()
      await withTimeout(flush(), CLOSE_WITHIN_MS, undefined, onFailure)
    },
  }
}
