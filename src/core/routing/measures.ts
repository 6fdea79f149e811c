import type { CacheUse } from './likely-cost.ts'

/**
 * Measurements of real calls at an offer, stored so that many workers can add to them and percentiles can be computed:
 * counts in logarithmic buckets, by time slots. Older slots weigh less; see docs/operating.md.
 */

/** Length of a slot, and number of slots kept. */
export const SLOT_MS = 20_000
export const SLOTS_KEPT = 60
/** A measurement weighs half as much after this long. */
export const HALF_LIFE_MS = 300_000
/** An offer with less than half a measurement left counts as unmeasured. */
const WEIGHT_MIN = 0.5

/** The slot of a time; `nowMs` in unix ms. */
export const slotOf = (nowMs: number): number => Math.floor(nowMs / SLOT_MS)

/** The result of an attempt: success, failure, or rejected for its rate. */
export const ATTEMPT_ENDS = ['success', 'failure', 'rate-limited'] as const
export type AttemptEnding = (typeof ATTEMPT_ENDS)[number]

const BUCKETS_PER_DOUBLING = 8
/** From 1 to 2^24, in any unit: ms up to hours, tokens a second up to millions. */
const BUCKET_MAX = 24 * BUCKETS_PER_DOUBLING

/** The bucket of a value: each is 9 % wider than the one before. Values under 1 are in the first. */
export function bucketOf(value: number): number {
  const bucket = Math.floor(Math.log2(Math.max(1, value)) * BUCKETS_PER_DOUBLING)
  return Math.min(BUCKET_MAX, bucket)
}

/** The representative value of a bucket: its geometric middle. */
const middleOf = (bucket: number): number => 2 ** ((bucket + 0.5) / BUCKETS_PER_DOUBLING)

/** The tokens of prompts that are long enough for a cache, and those of them that were read from it and written to it. */
const CACHE_PARTS = ['promptTokens', 'readTokens', 'writtenTokens'] as const

/** One counter of one offer in one slot: an ending, tokens, a first token in a bucket, or a speed in a bucket. */
export type Counter =
  | { kind: AttemptEnding | (typeof CACHE_PARTS)[number] }
  | { kind: 'first-token' | 'speed'; bucket: number }

const CODES: Record<Counter['kind'], string> = {
  success: 's',
  failure: 'f',
  'rate-limited': 'l',
  'first-token': 't',
  speed: 'r',
  promptTokens: 'p',
  readTokens: 'c',
  writtenTokens: 'w',
}
const KINDS = new Map(Object.entries(CODES).map(([kind, code]) => [code, kind as Counter['kind']]))

/** A counter as a field of a Redis hash: `t57 acme/large-1`. */
export function formatCounter(offerId: string, counter: Counter): string {
  return `${CODES[counter.kind]}${'bucket' in counter ? counter.bucket : ''} ${offerId}`
}

/** Parses a field; null on anything else. */
export function parseCounter(field: string): { offerId: string; counter: Counter } | null {
  const match = /^([a-z])(\d{0,3}) (.+)$/s.exec(field)
  const kind = KINDS.get(match?.[1] ?? '')
  if (!match || kind === undefined) return null
  const offerId = match[3]!
  if (kind !== 'first-token' && kind !== 'speed')
    return match[2] === '' ? { offerId, counter: { kind } } : null
  const bucket = Number(match[2])
  if (match[2] === '' || bucket > BUCKET_MAX) return null
  return { offerId, counter: { kind, bucket } }
}

export interface SlotCounts {
  endings: Record<AttemptEnding, number>
  cache: CacheUse
  /** Bucket → count. */
  firstToken: Map<number, number>
  speed: Map<number, number>
}

export const emptyCounts = (): SlotCounts => ({
  endings: { success: 0, failure: 0, 'rate-limited': 0 },
  cache: { promptTokens: 0, readTokens: 0, writtenTokens: 0 },
  firstToken: new Map(),
  speed: new Map(),
})

const isCachePart = (kind: Counter['kind']): kind is keyof CacheUse =>
  CACHE_PARTS.some((part) => part === kind)

export function addCount(counts: SlotCounts, counter: Counter, count: number): void {
  if ('bucket' in counter) {
    const buckets = counter.kind === 'speed' ? counts.speed : counts.firstToken
    buckets.set(counter.bucket, (buckets.get(counter.bucket) ?? 0) + count)
  } else if (isCachePart(counter.kind)) {
    counts.cache[counter.kind] += count
  } else {
    counts.endings[counter.kind] += count
  }
}

export interface Percentiles {
  p50: number
  p90: number
  p99: number
}

export type Endings = Record<AttemptEnding, number>

/** The current statistics of one offer. */
export interface OfferStats {
  /** Of the slots that overlap the last minute and the last ten. */
  lastMinute: Endings
  lastTenMinutes: Endings
  /** Of decayed measurements; null if there are none. */
  firstTokenMs: Percentiles | null
  tokensPerSecond: Percentiles | null
}

const weightOf = (ageMs: number): number => 0.5 ** (ageMs / HALF_LIFE_MS)

/** Sums an offer's slots. `slots` has its counts by slot number; future slots count as the current one. */
export function statsOf(slots: Iterable<readonly [number, SlotCounts]>, nowMs: number): OfferStats {
  const now = slotOf(nowMs)
  const lastMinute = emptyCounts().endings
  const lastTenMinutes = emptyCounts().endings
  const firstToken = new Float64Array(BUCKET_MAX + 1)
  const speed = new Float64Array(BUCKET_MAX + 1)
  for (const [slot, counts] of slots) {
    const ageMs = Math.max(0, now - slot) * SLOT_MS
    const weight = weightOf(ageMs)
    for (const ending of ATTEMPT_ENDS) {
      if (ageMs <= 60_000) lastMinute[ending] += counts.endings[ending]
      if (ageMs <= 600_000) lastTenMinutes[ending] += counts.endings[ending]
    }
    addWeighted(firstToken, counts.firstToken, weight)
    addWeighted(speed, counts.speed, weight)
  }
  return {
    lastMinute,
    lastTenMinutes,
    firstTokenMs: percentiles(firstToken),
    tokensPerSecond: percentiles(speed),
  }
}

/** How an offer's prompt cache was used, of decayed measurements; undefined if there are none. */
export function cacheUseOf(
  slots: Iterable<readonly [number, SlotCounts]>,
  nowMs: number,
): CacheUse | undefined {
  const { cache: sum } = emptyCounts()
  for (const [slot, { cache }] of slots) {
    if (cache.promptTokens === 0) continue
    const weight = weightOf(Math.max(0, slotOf(nowMs) - slot) * SLOT_MS)
    for (const part of CACHE_PARTS) sum[part] += cache[part] * weight
  }
  return sum.promptTokens > 0 ? sum : undefined
}

/** The sum of the counts of several offers. */
export function sumEndings(all: readonly Endings[]): Endings {
  const sum = emptyCounts().endings
  for (const endings of all) for (const ending of ATTEMPT_ENDS) sum[ending] += endings[ending]
  return sum
}

function addWeighted(sum: Float64Array, counts: ReadonlyMap<number, number>, weight: number): void {
  for (const [bucket, count] of counts) sum[bucket]! += count * weight
}

/** Computes percentiles from the weights of all buckets; null if there is too little weight. */
function percentiles(weights: Float64Array): Percentiles | null {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  if (total < WEIGHT_MIN) return null
  const at = (share: number): number => {
    let passed = 0
    const reached = weights.findIndex((weight) => {
      passed += weight
      return weight > 0 && passed >= share * total
    })
    return middleOf(reached < 0 ? weights.findLastIndex((weight) => weight > 0) : reached)
  }
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) }
}

const TOKENS_MIN = 8
const STREAMED_MS_MIN = 10

/**
 * Completion tokens a second, or null if the completion is too short to measure. Counted from the first token; over the
 * whole attempt if the completion came in one piece, or if reasoning preceded the first token.
 */
export function tokensPerSecond(answer: {
  completionTokens: number
  startedAt: number
  firstTokenAt: number
  endedAt: number
  reasoning: boolean
}): number | null {
  const { completionTokens, startedAt, firstTokenAt, endedAt, reasoning } = answer
  if (completionTokens < TOKENS_MIN) return null
  const streamedMs = endedAt - firstTokenAt
  if (!reasoning && streamedMs >= STREAMED_MS_MIN) return ((completionTokens - 1) * 1_000) / streamedMs
  return (completionTokens * 1_000) / Math.max(1, endedAt - startedAt)
}
