import type { FreeCreditState } from '../../src/core/billing/free-credit-state.ts'

/** Why an account was given no free credit, as a sentence; null where it was, or may be yet. */
export function whyNoFreeCredit(state: FreeCreditState | null): string | null {
  switch (state) {
    case 'mailbox_used':
      return 'another account of your mailbox had it.'
    case 'network_used':
      return 'your network had as many free credits as it may have in a day.'
    case 'budget_used':
      return 'all that is given away in an hour had been given.'
    case 'unverified':
    case 'granted':
    case null:
      return null
    default:
      return state satisfies never
  }
}
