import { type Static, Type } from 'typebox'
import { nullable } from './request-fields.ts'
import { IsoTime } from './shared.ts'

/** Share of attempts that succeeded, 0 to 1; null where there were too few to tell. */
const Uptime = nullable(Type.Number())

/** Uptime of a period, in bars of equal length, the oldest first; the last one goes on. */
const Period = Type.Object({ uptime: Uptime, bars: Type.Array(Uptime) })

export const ProviderIncident = Type.Object({
  provider: Type.String(),
  started_at: IsoTime,
  /** Null while it lasts. */
  ended_at: nullable(IsoTime),
  /** `full`: no calls were sent to the provider; `partial`: some models were not served there. */
  extent: Type.Enum(['partial', 'full']),
})
export type ProviderIncident = Static<typeof ProviderIncident>

export const ProviderStatus = Type.Object({
  id: Type.String(),
  name: Type.String(),
  /** `down`: its own circuit is open; `degraded`: circuits of some models, or an uptime under 99 % in the last hours. */
  state: Type.Enum(['operational', 'degraded', 'down', 'unknown']),
  /** Models that are not served there at present, since their circuit is open. */
  open_circuits: Type.Number(),
  /** Until the first token, of the last 24 hours; null where there were too few calls. */
  latency_p50_ms: nullable(Type.Number()),
  latency_p95_ms: nullable(Type.Number()),
  day: Period,
  week: Period,
  quarter: Period,
})
export type ProviderStatus = Static<typeof ProviderStatus>

/** GET /status/providers.json */
export const ProviderStatusList = Type.Object({
  object: Type.Literal('provider_status'),
  at: IsoTime,
  /** How long a bar is, and when the first of each period begins. */
  periods: Type.Object({
    day: Type.Object({ from: IsoTime, step_hours: Type.Number() }),
    week: Type.Object({ from: IsoTime, step_hours: Type.Number() }),
    quarter: Type.Object({ from: IsoTime, step_hours: Type.Number() }),
  }),
  data: Type.Array(ProviderStatus),
  /** Of the last seven days, the latest first. */
  incidents: Type.Array(ProviderIncident),
})
export type ProviderStatusList = Static<typeof ProviderStatusList>

/** GET and PATCH /admin/api/settings: what operators change while the gateway runs. */
export const GatewaySettings = Type.Object(
  {
    /** Whether anybody may see /status/providers. */
    provider_status_public: Type.Boolean(),
  },
  { additionalProperties: false },
)
export type GatewaySettings = Static<typeof GatewaySettings>
