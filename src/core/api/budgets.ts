import { type Static, Type } from 'typebox'
import { CLOSED, nullable, usd } from './request-fields.ts'
import { DecimalUsd, IsoTime } from './shared.ts'

/** A budget in the period that runs. What remains leaves out what open calls hold. */
export const BudgetState = Type.Object({
  limit_usd: DecimalUsd,
  used_usd: DecimalUsd,
  remaining_usd: DecimalUsd,
  resets_at: nullable(IsoTime),
})
export type BudgetState = Static<typeof BudgetState>

/** GET /console/api/spend-cap → 200: the cap of the account that is acted on, and what was spent this month (UTC). */
export const SpendCapView = Type.Object({
  /** Null: there is no cap. */
  limit_usd: nullable(Type.String()),
  spent_usd: Type.String(),
  /** Without what running calls hold; null: there is no cap. */
  remaining_usd: nullable(Type.String()),
  /** When the next month begins. */
  resets_at: Type.String(),
})
export type SpendCapView = Static<typeof SpendCapView>

/** PATCH /console/api/spend-cap → 200 SpendCapView, once it applies everywhere. */
export const SpendCapBody = Type.Object(
  {
    /** Null: no cap. */
    limit_usd: usd('limit_usd'),
  },
  CLOSED,
)
export type SpendCapBody = Static<typeof SpendCapBody>
