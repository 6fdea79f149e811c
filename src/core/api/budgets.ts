import { type Static, Type } from 'typebox'
import { CLOSED, nullable, usd } from './request-fields.ts'
import { DecimalUsd, IsoTime } from './shared.ts'

/** A budget in the current period. What remains excludes the holds of open calls. */
export const BudgetState = Type.Object({
  limit_usd: DecimalUsd,
  used_usd: DecimalUsd,
  remaining_usd: DecimalUsd,
  resets_at: nullable(IsoTime),
})
export type BudgetState = Static<typeof BudgetState>

/** GET /console/api/spend-cap → 200: the cap of the session's account, and its spending of this month (UTC). */
export const SpendCapView = Type.Object({
  /** Null: there is no cap. */
  limit_usd: nullable(Type.String()),
  spent_usd: Type.String(),
  /** Excludes the holds of running calls; null: there is no cap. */
  remaining_usd: nullable(Type.String()),
  /** Start of the next month. */
  resets_at: Type.String(),
})
export type SpendCapView = Static<typeof SpendCapView>

/** PATCH /console/api/spend-cap → 200 SpendCapView, once all processes apply it. */
export const SpendCapBody = Type.Object(
  {
    /** Null: no cap. */
    limit_usd: usd('limit_usd'),
  },
  CLOSED,
)
export type SpendCapBody = Static<typeof SpendCapBody>
