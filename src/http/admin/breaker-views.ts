import type { BreakerView } from '../../core/api/operations.ts'
import { breakerState } from '../../core/failover/breaker.ts'
import type { OfferHealth } from '../../routing/offer-health.ts'

/** What stands between calls and providers right now; times in the clock of the fleet. */
export function breakerViews({ view, fleetNow }: Pick<OfferHealth, 'view' | 'fleetNow'>): BreakerView[] {
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

const isoTime = (unixMs: number): string => new Date(unixMs).toISOString()
