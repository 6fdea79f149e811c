import type { FreeCreditState } from '../../src/core/api/sessions.ts'

/** Why an account was given no free credit, as a sentence; null where it was, or may be yet. */
export function whyNoFreeCredit(state: FreeCreditState | null): string | null {
  switch (state) {
    case 'mailbox_used':
      return 'another account with your email address already received it.'
    case 'network_used':
      return 'the daily limit of free credit for your network has been reached.'
    case 'budget_used':
      return 'the hourly limit of free credit has been reached.'
    case 'unverified':
    case 'granted':
    case null:
      return null
    default:
      return state satisfies never
  }
}
