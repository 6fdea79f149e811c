import { type Static, Type } from 'typebox'
import { nullable } from './request-fields.ts'
import { DecimalUsd, IsoTime } from './shared.ts'

export const USAGE_GROUPS = ['day', 'model', 'key'] as const
export type UsageGroup = (typeof USAGE_GROUPS)[number]

export const UsageSumsView = Type.Object({
  calls: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  cost_usd: DecimalUsd,
})
export type UsageSumsView = Static<typeof UsageSumsView>

export const UsageRowView = Type.Object({
  ...UsageSumsView.properties,
  /** Group `day`: `2027-01-31`. */
  day: Type.Optional(Type.String()),
  model: Type.Optional(Type.String()),
  key_id: Type.Optional(Type.String()),
  key_name: Type.Optional(nullable(Type.String())),
})
export type UsageRowView = Static<typeof UsageRowView>

/**
 * GET /console/api/usage?from&to&group_by=day|model|key → UsageView. `from` and `to` take a date (midnight UTC) or
 * an ISO time; the default is the last 30 days. Days without calls are left out.
 */
export const UsageView = Type.Object({
  from: IsoTime,
  to: IsoTime,
  group_by: Type.Enum([...USAGE_GROUPS]),
  data: Type.Array(UsageRowView),
  total: UsageSumsView,
})
export type UsageView = Static<typeof UsageView>

/** GET /v1/usage, with the same parameters. */
export const Usage = Type.Object({ object: Type.Literal('usage'), ...UsageView.properties })
