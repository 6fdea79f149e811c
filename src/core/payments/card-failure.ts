/** Permanent reasons why a card cannot be charged; the holder has to act. */
export const FAILURES_OF_THE_CARD = {
  authentication_required: 'the bank requires the card holder to confirm the payment',
  expired_card: 'the card has expired',
  refused_card: 'the bank does not accept this card',
  missing_card: 'the card is no longer saved at the payment provider',
} as const

/**
 * Stripe's codes for permanent failures of the card. A lost or stolen card is not named as such; that is up to the
 * holder's bank. Source: https://docs.stripe.com/declines/codes
 */
const LASTING: Record<string, string> = {
  authentication_required: FAILURES_OF_THE_CARD.authentication_required,
  expired_card: FAILURES_OF_THE_CARD.expired_card,
  ...Object.fromEntries(
    [
      'card_not_supported',
      'currency_not_supported',
      'fraudulent',
      'incorrect_number',
      'invalid_account',
      'lost_card',
      'pickup_card',
      'restricted_card',
      'revocation_of_all_authorizations',
      'revocation_of_authorization',
      'stolen_card',
      'stop_payment_order',
    ].map((code) => [code, FAILURES_OF_THE_CARD.refused_card]),
  ),
}

/** A code of Stripe; no other text is shown. */
const CODE = /^[a-z_]{1,60}$/

/** The reason of a failed charge for its holder, from Stripe's `code` and `decline_code`. */
export function cardFailure(code: string | null | undefined, declineCode: string | null | undefined): string {
  const lasting = LASTING[declineCode ?? ''] ?? LASTING[code ?? '']
  if (lasting !== undefined) return lasting
  const known = [declineCode, code].find((word) => word && CODE.test(word))
  return known ? `the card was declined (${known.replaceAll('_', ' ')})` : 'the card was declined'
}
