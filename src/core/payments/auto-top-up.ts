import { DAY_MS, nextMonthMs } from '../kernel/time.ts'
import { FAILURES_OF_THE_CARD } from './card-failure.ts'
import type { PaymentState } from './payment.ts'

/** What the holder of an account chose. Amounts in pico-USD. */
export interface AutoTopUpSettings {
  enabled: boolean
  /** A balance below it is topped up. */
  thresholdPico: bigint
  amountPico: bigint
  /** The most that automatic top-ups bring in a calendar month, UTC. */
  monthlyMaxPico: bigint
}

/** Why automatic top-ups stopped until their holder resumes them. */
export type AutoTopUpPause = 'payment_failed' | 'authentication_required'

/** A charge of the saved card. */
export interface ChargeAttempt {
  state: PaymentState
  failureReason: string | null
  createdAtMs: number
}

export type AutoTopUpStep =
  | { kind: 'charge' }
  /** Nothing is to be done before `untilMs`; null: before something changes. */
  | { kind: 'wait'; untilMs: number | null }
  | { kind: 'monthly_maximum'; untilMs: number }
  | { kind: 'pause'; reason: AutoTopUpPause }

/** From a failed charge to the next one, by how many failed in a row. After the last, there is none. */
const RETRY_AFTER_MS = [10 * 60_000, 60 * 60_000]

/** From one charge of an account to the next. One that spends faster needs a larger amount. */
const BETWEEN_CHARGES_MS = 5 * 60_000

/** Declines within a day, whatever was saved in between: card networks take more for the testing of stolen cards. */
export const DECLINES_PER_DAY_MAX = 3

/** How many amounts a threshold may be: a larger one would be reached by a row of charges. */
export const THRESHOLD_AMOUNTS_MAX = 4n

export interface AutoTopUpFacts {
  /** The balance, less what open calls hold where a call was refused for that. */
  spendablePico: bigint
  /** Automatic top-ups of this month that are settled or may still be. */
  spentPico: bigint
  /** Charges, newest first. */
  attempts: readonly ChargeAttempt[]
  /** When the charges were made that were declined in the last day, unix ms, newest first. */
  declinesMs: readonly number[]
  /** When the holder last saved the settings or a card, unix ms. */
  resumedAtMs: number
  nowMs: number
}

/**
 * What is to be done for an account with automatic top-ups: the same facts lead to the same step, so it may be asked at any
 * time, and by any process.
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

/** The same card would be refused again. */
const isLasting = (failureReason: string | null): boolean =>
  Object.values<string | null>(FAILURES_OF_THE_CARD).includes(failureReason)
