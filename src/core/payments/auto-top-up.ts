import { DAY_MS, nextMonthMs } from '../kernel/time.ts'
import { FAILURES_OF_THE_CARD } from './card-failure.ts'
import type { PaymentState } from './payment.ts'

/** The holder's settings. Amounts in pico-USD. */
export interface AutoTopUpSettings {
  enabled: boolean
  /** A lower balance is topped up. */
  thresholdPico: bigint
  amountPico: bigint
  /** Maximum of automatic top-ups in a calendar month, UTC. */
  monthlyMaxPico: bigint
}

/** Why automatic top-ups are paused until the holder resumes them. */
export type AutoTopUpPause = 'payment_failed' | 'authentication_required'

/** A charge of the saved card. */
export interface ChargeAttempt {
  state: PaymentState
  failureReason: string | null
  createdAtMs: number
}

export type AutoTopUpStep =
  | { kind: 'charge' }
  /** Nothing to do before `untilMs`; null: until something changes. */
  | { kind: 'wait'; untilMs: number | null }
  | { kind: 'monthly_maximum'; untilMs: number }
  | { kind: 'pause'; reason: AutoTopUpPause }

/** Delay between a failed charge and the next, by the number of consecutive failures. After the last, none follows. */
const RETRY_AFTER_MS = [10 * 60_000, 60 * 60_000]

/** Minimum interval between two charges of an account. Faster spending needs a larger amount. */
const BETWEEN_CHARGES_MS = 5 * 60_000

/** Maximum declines within a day, whatever was saved in between: card networks would suspect tests of stolen cards. */
export const DECLINES_PER_DAY_MAX = 3

/** Maximum threshold, in amounts: a larger one would need a series of charges. */
export const THRESHOLD_AMOUNTS_MAX = 4n

export interface AutoTopUpFacts {
  /** The balance, less open holds if a call was refused because of them. */
  spendablePico: bigint
  /** Automatic top-ups of this month that are settled or pending. */
  spentPico: bigint
  /** Charges, newest first. */
  attempts: readonly ChargeAttempt[]
  /** Times of the declined charges of the last day, unix ms, newest first. */
  declinesMs: readonly number[]
  /** When the holder last saved the settings or a card, unix ms. */
  resumedAtMs: number
  nowMs: number
}

/**
 * Decides the next step for an account with automatic top-ups. The same facts lead to the same step, so any process may
 * call it at any time.
 */
export function autoTopUpStep(settings: AutoTopUpSettings, facts: AutoTopUpFacts): AutoTopUpStep {
  const { spendablePico, spentPico, attempts, declinesMs, resumedAtMs, nowMs } = facts
  const [latest] = attempts
  if (latest && isOpen(latest)) return { kind: 'wait', untilMs: null }
  const failures = failuresInARow(attempts.filter(({ createdAtMs }) => createdAtMs >= resumedAtMs))
  if (latest && failures > 0) {
    const { failureReason } = latest
    if (failureReason === FAILURES_OF_THE_CARD.authentication_required)
      return { kind: 'pause', reason: 'authentication_required' }
    if (failures > RETRY_AFTER_MS.length || isLasting(failureReason))
      return { kind: 'pause', reason: 'payment_failed' }
  }
  if (spendablePico >= settings.thresholdPico) return { kind: 'wait', untilMs: null }
  if (spentPico + settings.amountPico > settings.monthlyMaxPico)
    return { kind: 'monthly_maximum', untilMs: nextMonthMs(nowMs) }
  const afterLatestMs = failures > 0 ? RETRY_AFTER_MS[failures - 1]! : BETWEEN_CHARGES_MS
  const decisive = declinesMs[DECLINES_PER_DAY_MAX - 1]
  const nextAtMs = Math.max(
    latest ? latest.createdAtMs + afterLatestMs : nowMs,
    decisive === undefined ? nowMs : decisive + DAY_MS,
  )
  return nowMs < nextAtMs ? { kind: 'wait', untilMs: nextAtMs } : { kind: 'charge' }
}

function failuresInARow(attempts: readonly ChargeAttempt[]): number {
  const succeeded = attempts.findIndex((attempt) => !hasFailed(attempt))
  return succeeded === -1 ? attempts.length : succeeded
}

const isOpen = ({ state }: ChargeAttempt): boolean => state === 'created' || state === 'pending'

const hasFailed = ({ state }: ChargeAttempt): boolean => state === 'failed' || state === 'expired'

/** Whether the same card would be declined again. */
const isLasting = (failureReason: string | null): boolean =>
  Object.values<string | null>(FAILURES_OF_THE_CARD).includes(failureReason)
