import { nextMonthMs } from '../kernel/time.ts'
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

/**
 * What is to be done for an account with automatic top-ups: the same facts lead to the same step, so it may be asked at any
 * time, and by any process.
 * @param attempts charges since the holder last saved the settings or a card, newest first
 */
export function autoTopUpStep(
  settings: AutoTopUpSettings,
  facts: {
    balancePico: bigint
    /** Automatic top-ups of this month that are settled or may still be. */
    spentPico: bigint
    attempts: readonly ChargeAttempt[]
    nowMs: number
  },
): AutoTopUpStep {
  const { balancePico, spentPico, attempts, nowMs } = facts
  const [latest] = attempts
  if (latest && isOpen(latest)) return { kind: 'wait', untilMs: null }
  const succeeded = attempts.findIndex((attempt) => !hasFailed(attempt))
  const failures = succeeded === -1 ? attempts.length : succeeded
  if (latest && failures > 0) {
    const { failureReason } = latest
    if (failureReason === FAILURES_OF_THE_CARD.authentication_required)
      return { kind: 'pause', reason: 'authentication_required' }
    if (failures > RETRY_AFTER_MS.length || isLasting(failureReason))
      return { kind: 'pause', reason: 'payment_failed' }
  }
  if (balancePico >= settings.thresholdPico) return { kind: 'wait', untilMs: null }
  if (spentPico + settings.amountPico > settings.monthlyMaxPico)
    return { kind: 'monthly_maximum', untilMs: nextMonthMs(nowMs) }
  const retryAtMs = latest && failures > 0 ? latest.createdAtMs + RETRY_AFTER_MS[failures - 1]! : nowMs
  return nowMs < retryAtMs ? { kind: 'wait', untilMs: retryAtMs } : { kind: 'charge' }
}

const isOpen = ({ state }: ChargeAttempt): boolean => state === 'created' || state === 'pending'

const hasFailed = ({ state }: ChargeAttempt): boolean => state === 'failed' || state === 'expired'

/** The same card would be refused again. */
const isLasting = (failureReason: string | null): boolean =>
  Object.values<string | null>(FAILURES_OF_THE_CARD).includes(failureReason)
