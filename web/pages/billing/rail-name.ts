import type { RailName } from '../../../src/core/api/billing.ts'

const NAMES: Record<RailName, string> = { card: 'Card', paypal: 'PayPal', development: 'Test money' }

/** The name of a payment method on screen. */
export const railName = (rail: RailName): string => NAMES[rail]
