import { type Static, Type } from 'typebox'
import { CLOSED, line, nullable } from './request-fields.ts'
import { DecimalUsd, IsoTime } from './shared.ts'

/** A saved card, as its holder recognizes it. The number is known to the payment provider alone. */
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
  /** Set while no card is charged until the settings are saved again, or another card. */
  paused: nullable(
    Type.Object({
      reason: Type.Enum(['payment_failed', 'authentication_required']),
      at: IsoTime,
      /** Why the latest charge failed. */
      detail: nullable(Type.String()),
    }),
  ),
  /** No charge is made before: after a charge, or after declines. Null, or past: nothing keeps it waiting. */
  next_charge_after: nullable(IsoTime),
  /** Another top-up would exceed the maximum of this month. */
  monthly_maximum_reached: Type.Boolean(),
})
export type AutoTopUpSettingsView = Static<typeof AutoTopUpSettingsView>

/** GET /console/api/auto-top-up; PATCH → the same. */
export const AutoTopUpView = Type.Object({
  /** Whether cards can be saved here. */
  available: Type.Boolean(),
  /** Cards that are saved here are simulated. */
  test: Type.Boolean(),
  card: nullable(SavedCardView),
  /** Null: never set. */
  settings: nullable(AutoTopUpSettingsView),
  /** Automatic top-ups of this month, UTC, that are settled or may still be. */
  spent_this_month_usd: DecimalUsd,
})
export type AutoTopUpView = Static<typeof AutoTopUpView>

const money = (name: string) =>
  Type.Unsafe<string | number>({
    type: ['string', 'number'],
    errorMessage: `\`${name}\` takes an amount of USD such as "25.00", in whole cents.`,
  })

/** PATCH /console/api/auto-top-up; the route checks the amounts. Saving resumes top-ups that are paused. */
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

/** POST /console/api/saved-card → 201. Navigate to `url`; where it is null, the card is saved. */
export const CardSetupView = Type.Object({ id: Type.String(), url: nullable(Type.String()) })
export type CardSetupView = Static<typeof CardSetupView>

/** POST /console/api/saved-card/confirm → AutoTopUpView: the holder is back from the page. DELETE /console/api/saved-card → 204. */
export const ConfirmCardBody = Type.Object({ id: line('id', 1, 200) }, CLOSED)
export type ConfirmCardBody = Static<typeof ConfirmCardBody>
