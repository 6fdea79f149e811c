import type { OfferView, ProviderView } from '../../src/core/api/offers.ts'
import type { LiveTraffic, LiveView, ProcessView, TrafficMetrics } from '../../src/core/api/operations.ts'

/** A rate a second: `0`, `0.3`, `12.4`, `1,250`. */
export const formatPerSecond = (rate: number): string =>
  rate >= 100
    ? Math.round(rate).toLocaleString('en-US')
    : rate.toLocaleString('en-US', { maximumFractionDigits: rate >= 10 ? 1 : 2 })

/** Bytes of memory: `233 MB`. */
export const formatMemory = (bytes: number): string => `${Math.round(bytes / 1_000_000)} MB`

/** How long something has run: `3 d 4 h`, `2 h 5 min`, `42 s`. */
export function formatUptime(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1_000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours} h ${minutes % 60} min`
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** Of all requests of the last seconds, how many the gateway failed; null without requests. */
export const serverErrorShare = (traffic: LiveTraffic): number | null =>
  traffic.requests_per_second === 0 ? null : traffic.server_errors_per_second / traffic.requests_per_second

/** Calls that workers run at this moment, and how many they could. A null bound: some worker has none. */
export function runningCalls(processes: readonly ProcessView[]): { running: number; most: number | null } {
  const workers = processes.filter(({ role }) => role === 'dispatch')
  const bounds = workers.map(({ concurrency }) => concurrency)
  return {
    running: workers.reduce((sum, { in_flight_calls: calls }) => sum + calls, 0),
    most: bounds.some((bound) => bound === null)
      ? null
      : bounds.reduce<number>((sum, bound) => sum + (bound ?? 0), 0),
  }
}

/** The calls that wait for a worker in all shards, and the age of the oldest; null while they are not known. */
export function waitingCalls({ queues }: Pick<LiveView, 'queues'>) {
  const ofShards = queues?.filter(({ name }) => name === 'dispatch') ?? []
  if (ofShards.length === 0) return null
  return {
    waiting: ofShards.reduce((sum, queue) => sum + queue.waiting, 0),
    oldestMs: Math.max(0, ...ofShards.map((queue) => queue.oldest_waiting_ms ?? 0)),
  }
}

export const ROLE_NAMES: Record<ProcessView['role'], string> = {
  api: 'API instance',
  dispatch: 'Dispatch worker',
  settlement: 'Settlement worker',
}

/** Calls that ended, in whichever way. */
export const endedCalls = ({ calls }: Pick<TrafficMetrics, 'calls'>): number =>
  Object.values(calls).reduce((sum, count) => sum + (count ?? 0), 0)

/** Requests that failed with a 5xx. */
export const serverErrors = ({ requests }: Pick<TrafficMetrics, 'requests'>): number => requests['5xx'] ?? 0

const STALE_AFTER_MS = 4_000
/** A connection that was open for so long without a message hangs. */
const HANGS_AFTER_MS = 10_000
const REOPEN_AFTER_MS = 3_000

/** The next step for a stream that should send every second: `silentMs` since its last message. */
export function nextLiveStep(stream: { silentMs: number; openMs: number; isClosed: boolean }): {
  isStale: boolean
  reopen: boolean
} {
  const { silentMs, openMs, isClosed } = stream
  const hangs = silentMs >= HANGS_AFTER_MS && openMs >= HANGS_AFTER_MS
  return {
    isStale: silentMs >= STALE_AFTER_MS,
    reopen: isClosed ? openMs >= REOPEN_AFTER_MS : hangs,
  }
}

interface Counted {
  id: string
  last_ten_minutes: ProviderView['last_ten_minutes']
}

const attempts = ({ last_ten_minutes: { success, failure, rate_limited } }: Counted): number =>
  success + failure + rate_limited

/** The busiest first, then by id. */
export const busyFirst = <T extends Counted>(rows: readonly T[]): T[] =>
  rows.toSorted((a, b) => attempts(b) - attempts(a) || (a.id < b.id ? -1 : 1))

/** Whether something of a provider is held back now, so that it is to be seen first. */
export const isAmiss = ({ breaker, health }: ProviderView): boolean =>
  breaker.breaker !== 'closed' || health.down + health.probe + health['rate-limited'] > 0

/** Held back now before usable ones, and what our calls cannot use at the end. */
const rank = ({ withheld, health }: OfferView): number =>
  withheld !== null ? 2 : health.state === 'ready' ? 1 : 0

/** Offers by what an operator does about them: those held back now, usable ones, and those that our calls cannot use. */
export const offersByHealth = (offers: readonly OfferView[]) => {
  const of = (wanted: number) => offers.filter((offer) => rank(offer) === wanted)
  return { amiss: of(0), healthy: of(1), unused: of(2) }
}

/** The offers whose model or id has every word; those held back first, then the busiest. */
export function findOffers(offers: readonly OfferView[], search: string): OfferView[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const found = offers.filter(({ id, model }) => {
    const text = `${id} ${model}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
  return busyFirst(found).toSorted((a, b) => rank(a) - rank(b))
}
