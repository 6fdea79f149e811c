import { type Static, Type } from 'typebox'
import { nullable } from './nullable.ts'

export const UsageSumsView = Type.Object({
  calls: Type.Number(),
  prompt_tokens: Type.Number(),
  completion_tokens: Type.Number(),
  total_tokens: Type.Number(),
  cost_usd: Type.String(),
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
  from: Type.String(),
  to: Type.String(),
  group_by: Type.Enum(['day', 'model', 'key']),
  data: Type.Array(UsageRowView),
  total: UsageSumsView,
})
export type UsageView = Static<typeof UsageView>
