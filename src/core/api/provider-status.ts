import { type Static, Type } from 'typebox'
import { nullable } from './request-fields.ts'
import { IsoTime } from './shared.ts'

/** Share of successful attempts, 0 to 1; null if there were too few. */
const Uptime = nullable(Type.Number())

/** Uptime of a period, in bars of equal length, oldest first; the last one is not over. */
export const UptimePeriod = Type.Object({ uptime: Uptime, bars: Type.Array(Uptime) })
export type UptimePeriod = Static<typeof UptimePeriod>

export const ProviderIncident = Type.Object({
  provider: Type.String(),
  started_at: IsoTime,
  /** Null while it lasts. */
  ended_at: nullable(IsoTime),
  /** `full`: no calls were sent to the provider; `partial`: some of its models were unavailable. */
  extent: Type.Enum(['partial', 'full']),
})
export type ProviderIncident = Static<typeof ProviderIncident>

export const ProviderStatus = Type.Object({
  id: Type.String(),
  name: Type.String(),
  /** `down`: its own circuit is open; `degraded`: circuits of some models are open, or the recent uptime is below 99 %. */
  state: Type.Enum(['operational', 'degraded', 'down', 'unknown']),
  /** Number of its models that are unavailable because their circuit is open. */
  open_circuits: Type.Number(),
  /** Time to first token, of the last 24 hours; null if there were too few calls. */
  latency_p50_ms: nullable(Type.Number()),
  latency_p95_ms: nullable(Type.Number()),
  day: UptimePeriod,
  week: UptimePeriod,
  quarter: UptimePeriod,
})
export type ProviderStatus = Static<typeof ProviderStatus>

/** GET /status/providers.json */
export const ProviderStatusList = Type.Object({
  object: Type.Literal('provider_status'),
  at: IsoTime,
  /** Length of a bar, and start of the first bar of each period. */
  periods: Type.Object({
    day: Type.Object({ from: IsoTime, step_hours: Type.Number() }),
    week: Type.Object({ from: IsoTime, step_hours: Type.Number() }),
    quarter: Type.Object({ from: IsoTime, step_hours: Type.Number() }),
  }),
  data: Type.Array(ProviderStatus),
  /** Incidents of the last seven days, latest first. */
  incidents: Type.Array(ProviderIncident),
})
export type ProviderStatusList = Static<typeof ProviderStatusList>
