import type { AttemptFailure } from '../failover/attempt-failure.ts'
import type { FinishReason } from './completion.ts'
import type { NativeStop } from './messages-wire.ts'
import type { Usage } from './usage.ts'

/** How one try at one offer ended, with what is known of it in every case. */
export type AttemptOutcome = FinishedAttempt | FailedAttempt | ExpiredAttempt | CancelledAttempt

interface AttemptFacts {
  produced: Production
  /** The provider's HTTP status; null if there is none. */
  httpStatus: number | null
  /** Unix milliseconds of the first content. */
  firstTokenAt: number | null
  /** Stream events that could not be read and were skipped. */
  malformedEvents: number
}

export interface FinishedAttempt extends AttemptFacts {
  kind: 'finished'
  reason: FinishReason
  /** As the provider reported it for the whole completion, plausible or not; null when it has to be counted. */
  usage: Usage | null
  nativeStop?: NativeStop
  /** The model that the provider says it is, for operators only; absent if it says none. */
  responseModel?: string
  /** The provider's finish reason, if no table has it. */
  unknownFinish?: string
  /** It exceeded its completion limit, and was stopped. */
  ranOn?: true
}

interface FailedAttempt extends AttemptFacts {
  kind: 'failed'
  failure: AttemptFailure
}

/** The time of the call was over while a completion that is delivered whole was being produced. Never of a provider client. */
interface ExpiredAttempt extends AttemptFacts {
  kind: 'expired'
}

/** The signal of the request was aborted. */
interface CancelledAttempt extends AttemptFacts {
  kind: 'cancelled'
}

/** What a provider reported of its work on a completion, besides the content. */
export interface Production {
  /** The last usage that it reported before the end of the completion; null when it reported none. */
  usage: Usage | null
  /** Bytes of streamed reasoning. */
  thinkingBytes: number
  /** Reported reasoning tokens. */
  reasoningTokens: number
  /** The service tier that it says it serves; absent: it says none, or none was asked for. */
  tier?: string
}

export const NOTHING_PRODUCED: Production = Object.freeze({
  usage: null,
  thinkingBytes: 0,
  reasoningTokens: 0,
})

/** An attempt that never reached its provider. */
export const unsentAttempt = (failure: AttemptFailure): AttemptOutcome => ({
  kind: 'failed',
  failure,
  produced: NOTHING_PRODUCED,
  httpStatus: null,
  firstTokenAt: null,
  malformedEvents: 0,
})

/** What is known of an attempt, apart from how it ended. */
export const factsOf = ({
  produced,
  httpStatus,
  firstTokenAt,
  malformedEvents,
}: AttemptOutcome): AttemptFacts => ({ produced, httpStatus, firstTokenAt, malformedEvents })

/** `ok`, or why the attempt did not finish. */
export function outcomeName(outcome: AttemptOutcome): string {
  switch (outcome.kind) {
    case 'finished':
      return 'ok'
    case 'failed':
      return outcome.failure.kind
    case 'expired':
      return 'call-timeout'
    case 'cancelled':
      return 'cancelled'
    default:
      return outcome satisfies never
  }
}

/** The usage that the provider reported; null if it reported none, or what cannot be a count. */
export function reportedUsage(outcome: AttemptOutcome): Usage | null {
  const usage = (outcome.kind === 'finished' ? outcome.usage : null) ?? outcome.produced.usage
  if (usage === null || !Object.values(usage).every(isCount)) return null
  const { promptTokens, audioTokens = 0, imageTokens = 0, cachedTokens = 0, cacheWriteTokens = 0 } = usage
  if ((usage.cacheWriteHourTokens ?? 0) > cacheWriteTokens) return null
  return audioTokens + imageTokens + cachedTokens + cacheWriteTokens <= promptTokens ? usage : null
}

const isCount = (value: unknown): boolean =>
  value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0)
