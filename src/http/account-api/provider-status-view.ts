import type { CallStats } from '../../billing/reports/model-stats-store.ts'
import { CALLS_MIN } from '../../billing/reports/model-stats-store.ts'
import type { ProviderHour, ProviderLatency } from '../../billing/reports/provider-hours.ts'
import type { BreakerView } from '../../core/api/operations.ts'
import type { ProviderIncident, ProviderStatus, ProviderStatusList } from '../../core/api/provider-status.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import { providerOfOffer } from '../../core/failover/circuit-breaker.ts'
import { DAY_MS, HOUR_MS, isoTime } from '../../core/kernel/time.ts'
import type { StoredAlarm } from '../../operators/alarm-store.ts'

/** Attempts of an hour, without their speed. */
type CountedHour = Pick<ProviderHour, 'providerId' | 'hourMs' | 'succeeded' | 'failed'>

/** The data about providers at a time. */
export interface ProviderFacts {
  catalog: CatalogSnapshot
  /** Of the last 91 days. */
  hours: readonly CountedHour[]
  latency: readonly ProviderLatency[]
  breakers: readonly Pick<BreakerView, 'subject' | 'state'>[]
  /** Alarms of breakers, latest first. */
  alarms: readonly Pick<StoredAlarm, 'subject' | 'firstAt' | 'resolvedAt'>[]
  stats: CallStats | null
  nowMs: number
}

/** Bars of each period: 24 hours, 28 quarters of days, 90 days. */
const PERIODS = {
  day: { bars: 24, stepHours: 1 },
  week: { bars: 28, stepHours: 6 },
  quarter: { bars: 90, stepHours: 24 },
} as const
type PeriodName = keyof typeof PERIODS

/** A provider below it is degraded. */
const GOOD_UPTIME = 0.99
const RECENT_MS = 3 * HOUR_MS
const INCIDENTS_MAX = 20
const INCIDENTS_MS = 7 * DAY_MS

/**
 * The status of every provider that serves calls with platform keys. The breaker of an offer is shown only if calls by
 * the model's name have tried it often; otherwise it would reveal the target of a call to `auto`.
 */
export function providerStatusList(facts: ProviderFacts): ProviderStatusList {
  const { catalog, nowMs } = facts
  const offers = [...catalog.models.values()].flatMap((model) => model.offers.filter(({ shared }) => shared))
  const names = new Map(offers.map(({ provider }) => [provider.id, provider.name]))
  const data = [...names]
    .map(([id, name]) => providerStatus(id, name, facts))
    .sort((one, other) => one.name.localeCompare(other.name, 'en'))
  return {
    object: 'provider_status',
    at: isoTime(nowMs),
    periods: {
      day: periodOf('day', nowMs),
      week: periodOf('week', nowMs),
      quarter: periodOf('quarter', nowMs),
    },
    data,
    incidents: incidentsOf(facts, names),
  }
}

const periodOf = (name: PeriodName, nowMs: number) => ({
  from: isoTime(startOf(name, nowMs)),
  step_hours: PERIODS[name].stepHours,
})

/** Steps start at multiples of their length in UTC; the last one contains the present. */
function startOf(name: PeriodName, nowMs: number): number {
  const { bars, stepHours } = PERIODS[name]
  const stepMs = stepHours * HOUR_MS
  return Math.floor(nowMs / stepMs) * stepMs - (bars - 1) * stepMs
}

function providerStatus(id: string, name: string, facts: ProviderFacts): ProviderStatus {
  const { nowMs, latency } = facts
  const hours = facts.hours.filter(({ providerId }) => providerId === id)
  const open = facts.breakers.filter(
    ({ subject, state }) =>
      state !== 'rate-limited' && providerOfOffer(subject) === id && isShown(subject, facts),
  )
  const speed = latency.find((one) => one.id === id)
  const recent = uptimeOf(hours.filter(({ hourMs }) => hourMs >= nowMs - RECENT_MS))
  return {
    id,
    name,
    state: stateOf(
      open.map(({ subject }) => subject),
      id,
      recent,
    ),
    open_circuits: new Set(open.map(({ subject }) => subject.split('#')[0])).size,
    latency_p50_ms: speed ? Math.round(speed.p50Ms) : null,
    latency_p95_ms: speed ? Math.round(speed.p95Ms) : null,
    day: period('day', hours, nowMs),
    week: period('week', hours, nowMs),
    quarter: period('quarter', hours, nowMs),
  }
}

function stateOf(open: string[], providerId: string, recent: number | null): ProviderStatus['state'] {
  if (open.includes(providerId)) return 'down'
  if (open.length > 0) return 'degraded'
  if (recent === null) return 'unknown'
  return recent >= GOOD_UPTIME ? 'operational' : 'degraded'
}

/** Whether the status of this subject may be shown: a provider, or an offer with enough calls by name. */
function isShown(subject: string, { stats }: ProviderFacts): boolean {
  const provider = providerOfOffer(subject)
  const offer = subject.split('#')[0] ?? subject
  // The breaker of one account's calls concerns that account only.
  if (subject.includes('#account:')) return false
  const isBusy = (offerId: string) => stats?.offers.get(offerId)?.uptime != null
  if (offer !== provider) return isBusy(offer)
  return [...(stats?.offers.keys() ?? [])].some((id) => providerOfOffer(id) === provider && isBusy(id))
}

/** The uptime of a provider in a period, by its hours in it. */
export function period(name: PeriodName, hours: readonly CountedHour[], nowMs: number) {
  const { bars, stepHours } = PERIODS[name]
  const startMs = startOf(name, nowMs)
  const steps = Map.groupBy(hours, ({ hourMs }) => Math.floor((hourMs - startMs) / (stepHours * HOUR_MS)))
  const inPeriod = hours.filter(({ hourMs }) => hourMs >= startMs)
  return {
    uptime: uptimeOf(inPeriod),
    bars: Array.from({ length: bars }, (_, index) => uptimeOf(steps.get(index) ?? [])),
  }
}

/** To a hundredth of a percent, rounded down, so that only an offer without failures has 1. */
function uptimeOf(hours: readonly CountedHour[]): number | null {
  const succeeded = hours.reduce((sum, hour) => sum + hour.succeeded, 0)
  const tried = hours.reduce((sum, hour) => sum + hour.failed, succeeded)
  return tried < CALLS_MIN ? null : Math.floor((succeeded / tried) * 10_000) / 10_000
}

function incidentsOf(facts: ProviderFacts, names: ReadonlyMap<string, string>): ProviderIncident[] {
  const sinceMs = facts.nowMs - INCIDENTS_MS
  return facts.alarms
    .filter(({ subject, resolvedAt }) => {
      const isRecent = resolvedAt === null || resolvedAt.getTime() >= sinceMs
      return isRecent && names.has(providerOfOffer(subject)) && isShown(subject, facts)
    })
    .slice(0, INCIDENTS_MAX)
    .map(({ subject, firstAt, resolvedAt }) => ({
      provider: names.get(providerOfOffer(subject))!,
      started_at: firstAt.toISOString(),
      ended_at: resolvedAt?.toISOString() ?? null,
      extent: subject === providerOfOffer(subject) ? ('full' as const) : ('partial' as const),
    }))
}
