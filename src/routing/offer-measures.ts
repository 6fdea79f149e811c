import type { CatalogLogger } from '../catalog/catalog-store.ts'
import {
  addCount,
  emptyCounts,
  type OfferStats,
  parseCounter,
  SLOT_MS,
  SLOTS_KEPT,
  type SlotCounts,
  slotOf,
  statsOf,
} from '../core/routing/measures.ts'
import { pollEvery } from '../platform/process/poll-every.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { healthMeasures } from '../platform/redis/redis-keys.ts'

/** How long after its end a slot is still read: its last counts are on their way. */
const LATE_MS = 5_000

/** What the fleet measured of offers, as one process follows it. Reading costs no round trip. */
export interface OfferMeasures {
  stats(offerId: string): OfferStats
  stop(): void
}

export interface OfferMeasuresOptions {
  redis: Redis
  /** Unix milliseconds. */
  now: () => number
  logger: Pick<CatalogLogger, 'warn'>
  /** Default 2,000. */
  pollMs?: number
}

/** Counts of one slot by offer id. */
type Slot = Map<string, SlotCounts>

/** Starts following: reads what is remembered, then the present slot again and again. Rejects when Redis does. */
export async function followOfferMeasures(options: OfferMeasuresOptions): Promise<OfferMeasures> {
  const { redis, now, logger, pollMs = 2_000 } = options
  const slots = new Map<number, Slot>()
  /** Summed up on demand, once between two readings. */
  const stats = new Map<string, OfferStats>()

  const read = async (first: number, last: number): Promise<void> => {
    const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index)
    const hashes = await Promise.all(numbers.map((slot) => redis.hgetall(healthMeasures(slot))))
    for (const [index, slot] of numbers.entries()) slots.set(slot, parseSlot(hashes[index]!))
    for (const slot of slots.keys()) if (slot <= last - SLOTS_KEPT) slots.delete(slot)
    stats.clear()
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
    logger.warn({ err: error }, 'the measures of offers cannot be read'),
  )
  return {
    stats(offerId) {
      const known = stats.get(offerId)
      if (known) return known
      const found = statsOf(slotsOf(offerId, slots), now())
      stats.set(offerId, found)
      return found
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

/** Reads a slot's hash. What cannot be read is left out: it is advice. */
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

/** How long a slot's hash is kept in Redis after it was last added to. */
export const SLOT_LIFETIME_MS = (SLOTS_KEPT + 1) * SLOT_MS
