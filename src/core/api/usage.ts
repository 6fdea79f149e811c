import { type Static, Type } from 'typebox'
import { GROUP_SCOPES } from '../billing/group-scopes.ts'
import { nullable, optional } from './request-fields.ts'
import { DecimalUsd, IsoTime } from './shared.ts'

export const USAGE_GROUPS = ['day', 'model', 'key', ...GROUP_SCOPES] as const
export type UsageGroup = (typeof USAGE_GROUPS)[number]

export const UsageSumsView = Type.Object({
  calls: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  cost_usd: DecimalUsd,
})

export const UsageRowView = Type.Object({
  ...UsageSumsView.properties,
  /** Group `day`: `2027-01-31`. */
  day: Type.Optional(Type.String()),
  model: Type.Optional(Type.String()),
  key_id: Type.Optional(Type.String()),
  key_name: optional(Type.String()),
  /** Null: calls of no project. */
  project: optional(Type.String()),
  /** `<tag>=<value>`; null: calls that name none. */
  tag: optional(Type.String()),
  /** The end user; null: calls that name none. */
  user: optional(Type.String()),
  /** Of these three: all but the hundred that cost the most, as one row. */
  is_other: Type.Optional(Type.Boolean()),
})

/**
 * GET /v1/usage and /console/api/usage?from&to&group_by=day|model|key|project|tag|user. `from` and `to` take a date (midnight UTC) or an
 * ISO time; the default is the last 30 days. Days without calls are left out.
 */
export const UsageView = Type.Object({
  object: Type.Literal('usage'),
  from: IsoTime,
  to: IsoTime,
  group_by: Type.Enum([...USAGE_GROUPS]),
  data: Type.Array(UsageRowView),
  total: UsageSumsView,
})
export type UsageView = Static<typeof UsageView>

export const USAGE_INTERVALS = ['hour', 'day', 'month'] as const
export type UsageInterval = (typeof USAGE_INTERVALS)[number]

export const USAGE_SERIES_GROUPS = ['model', 'key', 'member'] as const
export type UsageSeriesGroup = (typeof USAGE_SERIES_GROUPS)[number]

export const UsageFiguresView = Type.Object({
  ...UsageSumsView.properties,
  failed_calls: Type.Integer(),
  /** Medians; null if no call has one. */
  first_token_ms: nullable(Type.Number()),
  /** 95 % of the calls had their first token sooner. */
  first_token_p95_ms: nullable(Type.Number()),
  duration_ms: nullable(Type.Number()),
})
export type UsageFiguresView = Static<typeof UsageFiguresView>

const Group = {
  /** A model without alias and suffix, a key's id, or the personal account of the key's creator; empty: unknown. */
  group: Type.String(),
  /** The key's name or the member's email; null for models, and for keys without a name. */
  name: nullable(Type.String()),
}

/** Groups that charts distinguish, each by a colour; all others have the rest of a bucket. */
export const USAGE_STACKS_MAX = 7

/**
 * GET /console/api/usage/series?from&to&interval=hour|day|month&group_by=model|key|member&time_zone&model&key_id. Dates
 * are in the time zone. Buckets and groups without calls are omitted. All cells can be downloaded at usage/series.csv.
 */
export const UsageSeriesView = Type.Object({
  from: IsoTime,
  to: IsoTime,
  interval: Type.Enum([...USAGE_INTERVALS]),
  time_zone: Type.String(),
  group_by: Type.Enum([...USAGE_SERIES_GROUPS]),
  total: UsageFiguresView,
  /** Of the period of equal length before. */
  total_before: UsageFiguresView,
  /** The start of every bucket, including those without calls. */
  starts: Type.Array(IsoTime),
  /** What a chart stacks: of the most expensive groups, a value for each of `starts`. */
  stacks: Type.Array(
    Type.Object({
      group: Type.String(),
      total_tokens: Type.Array(Type.Integer()),
      cost_usd: Type.Array(DecimalUsd),
    }),
  ),
  buckets: Type.Array(Type.Object({ at: IsoTime, ...UsageFiguresView.properties })),
  /** The most expensive first, a thousand at most. */
  groups: Type.Array(Type.Object({ ...Group, ...UsageFiguresView.properties })),
  groups_count: Type.Integer(),
})
export type UsageSeriesView = Static<typeof UsageSeriesView>
