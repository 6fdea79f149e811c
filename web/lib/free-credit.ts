import type { FreeCreditState } from '../../src/core/api/sessions.ts'

const REASONS: Record<FreeCreditState, string | null> = {
  mailbox_used: 'another account with your email address already received it.',
  network_used: 'the daily limit of free credit for your network has been reached.',
  budget_used: 'the hourly limit of free credit has been reached.',
  unverified: null,
  granted: null,
}

/** Why an account was given no free credit, as a sentence; null where it was, or may be yet. */
export const whyNoFreeCredit = (state: FreeCreditState | null): string | null => state && REASONS[state]
