import { type Static, Type } from 'typebox'
import { CLOSED, line, nullable } from './request-fields.ts'
import { DecimalUsd, IsoTime } from './shared.ts'

/** A saved card. Only the payment provider knows its number. */
export const SavedCardView = Type.Object({
  /** `visa`, `mastercard`, … */
  brand: Type.String(),
  last4: Type.String(),
  exp_month: Type.Number(),
  exp_year: Type.Number(),
  saved_at: IsoTime,
  /** Simulated: charging it moves no money. */
  test: Type.Boolean(),
})
export type SavedCardView = Static<typeof SavedCardView>

export const AutoTopUpSettingsView = Type.Object({
  enabled: Type.Boolean(),
  threshold_usd: DecimalUsd,
  amount_usd: DecimalUsd,
  monthly_maximum_usd: DecimalUsd,
  /** Why automatic top-ups are paused, until the settings or another card are saved; null: not paused. */
  paused: nullable(
    Type.Object({
      reason: Type.Enum(['payment_failed', 'authentication_required']),
      at: IsoTime,
      /** Reason of the latest failed charge. */
      detail: nullable(Type.String()),
    }),
  ),
  /** Earliest time of the next charge, after a charge or declines. Null or past: no delay. */
  next_charge_after: nullable(IsoTime),
  /** Another top-up would exceed the maximum of this month. */
  monthly_maximum_reached: Type.Boolean(),
})
export type AutoTopUpSettingsView = Static<typeof AutoTopUpSettingsView>

/** GET /console/api/auto-top-up; PATCH → the same. */
export const AutoTopUpView = Type.Object({
  /** Whether cards can be saved. */
  available: Type.Boolean(),
  /** Saved cards are simulated. */
  test: Type.Boolean(),
  card: nullable(SavedCardView),
  /** Null: never set. */
  settings: nullable(AutoTopUpSettingsView),
  /** Automatic top-ups of this month, UTC, that are settled or pending. */
  spent_this_month_usd: DecimalUsd,
})
export type AutoTopUpView = Static<typeof AutoTopUpView>

const money = (name: string) =>
  Type.Unsafe<string | number>({
    type: ['string', 'number'],
    errorMessage: `\`${name}\` takes an amount of USD such as "25.00", in whole cents.`,
  })

/** PATCH /console/api/auto-top-up; the route checks the amounts. Saving resumes paused top-ups. */
export const AutoTopUpBody = Type.Object(
  {
    enabled: Type.Boolean(),
    threshold_usd: money('threshold_usd'),
    amount_usd: money('amount_usd'),
    monthly_maximum_usd: money('monthly_maximum_usd'),
  },
  CLOSED,
)
export type AutoTopUpBody = Static<typeof AutoTopUpBody>

/** POST /console/api/saved-card → 201. Navigate to `url`; if it is null, the card is saved. */
export const CardSetupView = Type.Object({ id: Type.String(), url: nullable(Type.String()) })
export type CardSetupView = Static<typeof CardSetupView>

/**
 * POST /console/api/saved-card/confirm → AutoTopUpView, after the holder returned from the page. DELETE
 * /console/api/saved-card → 204.
 */
export const ConfirmCardBody = Type.Object({ id: line('id', 1, 200) }, CLOSED)
export type ConfirmCardBody = Static<typeof ConfirmCardBody>
