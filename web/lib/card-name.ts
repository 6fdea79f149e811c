import type { SavedCardView } from '../../src/core/api/auto-top-up.ts'
import { capitalised } from './format.ts'

/** Stripe's words for brands, where a capital is not enough. */
const BRANDS: Record<string, string> = {
  amex: 'American Express',
  diners: 'Diners Club',
  eftpos_au: 'Eftpos Australia',
  jcb: 'JCB',
  unionpay: 'UnionPay',
  unknown: 'Card',
}

/** A card as its holder knows it: `Visa ending in 4242`. */
export function cardName({ brand, last4 }: Pick<SavedCardView, 'brand' | 'last4'>): string {
  const name = BRANDS[brand] ?? capitalised(brand)
  return `${name} ending in ${last4}`
}
