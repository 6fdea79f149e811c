import type { BreakerView, LiveView } from '../../core/api/operations.ts'
import { breakerState } from '../../core/failover/breaker.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { trafficSlots } from '../../core/operations/traffic.ts'
import { readProcesses } from '../../platform/observability/process-report.ts'
import { readTraffic } from '../../platform/observability/traffic.ts'
import { withTimeout } from '../../platform/process/with-timeout.ts'
import type { Queues } from '../../platform/queues/queue-stats.ts'
import { isSettlementBehind, readQueues } from '../../platform/queues/queue-stats.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import type { OfferHealth } from '../../routing/circuit-breaker/offer-health.ts'
import type { Services } from '../../services.ts'
import { liveTraffic } from './traffic-view.ts'

/** What cannot be read within this is null in the message. */
const TIMEOUT_MS = 900
const WINDOW_MS = 10_000
/** By then every process has reported a second. */
const REPORTED_AFTER_MS = 2_000

export interface LiveServices extends Pick<Services, 'alarms'> {
  redis: Redis
  queues: Queues
  offers: { health: Pick<OfferHealth, 'view' | 'fleetNow'> }
  clock: () => number
}

/** The message of one moment. Never rejects: what cannot be read is null. */
export async function liveView(services: LiveServices): Promise<LiveView> {
  const { redis, queues, alarms, offers, clock } = services
  const now = clock()
  const toMs = Math.floor((now - REPORTED_AFTER_MS) / 1000) * 1000
  const fromMs = toMs - WINDOW_MS
  const [processes, stats, traffic, openAlarms] = await Promise.all([
    orNull(readProcesses(redis)),
    orNull(readQueues(redis, queues, now)),
    orNull(readTraffic(redis, fromMs, toMs)),
    orNull(alarms.countOpen()),
  ])
  const [slot] = traffic ? trafficSlots(traffic, { fromMs, toMs, stepMs: WINDOW_MS }) : []
  return {
    object: 'live',
    at: isoTime(now),
    processes,
    queues: stats,
    settlement_behind: stats && isSettlementBehind(stats),
    traffic: slot ? liveTraffic(slot, WINDOW_MS) : null,
    open_alarms: openAlarms,
    breakers: breakerViews(offers.health),
  }
}

/** The breakers that are not closed; times in the clock of the fleet. */
function breakerViews({ view, fleetNow }: Pick<OfferHealth, 'view' | 'fleetNow'>): BreakerView[] {
  const now = fleetNow()
  return view.subjects().flatMap((subject): BreakerView[] => {
    const entry = view.breaker(subject)
    const limitedUntil = view.rateLimitedUntil(subject, now)
    const state = breakerState(entry, now)
    const views: BreakerView[] = []
    if (entry && state !== 'closed')
      views.push({ subject, state, reason: entry.reason, until: isoTime(entry.untilMs) })
    if (limitedUntil !== null)
      views.push({ subject, state: 'rate-limited', reason: 'rate-limited', until: isoTime(limitedUntil) })
    return views
  })
}

/** A reading that fails is null here; a route of its own reports the error. */
const orNull = <T>(reading: Promise<T>): Promise<T | null> => withTimeout<T | null>(reading, TIMEOUT_MS, null)
