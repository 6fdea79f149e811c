import type { Candidate } from '../../core/calls/call-job.ts'
import type { AttemptEnd, Production } from '../../providers/provider.ts'

/** When a model that reasons out of sight was at work on an answer that was cut off. Durations in ms. */
export interface HiddenTime {
  /** From the request to the first content, or to the end where there was none. */
  silentMs: number
  /** From the first content to the end. */
  contentMs: number
}

/** Of English in today's vocabularies; a text of three bytes a character comes out about right as well. */
const BYTES_PER_TOKEN = 4
/** A stream says how fast its model is once it is that long. */
const MEASURED_TOKENS_MIN = 32
const MEASURED_MS_MIN = 250
/** Where it does not: slower than most. No model is taken for faster than the other. */
const USUAL_TOKENS_PER_SECOND = 50
const MOST_TOKENS_PER_SECOND = 300

/** Tokens of a text, by its bytes alone. */
export const tokensOfBytes = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN)

/**
 * Tokens of reasoning in an answer that did not come to its end. What was streamed is counted by its bytes. A model
 * that reasons and shows nothing of it is taken to have reasoned until its first content, as fast as it spoke
 * afterwards.
 * @param visible tokens of the content
 */
export function hiddenTokens(
  { thinkingBytes }: Production,
  visible: number,
  hidden: HiddenTime | undefined,
): { tokens: number; isEstimate: boolean } {
  if (thinkingBytes > 0 || hidden === undefined) {
    return { tokens: tokensOfBytes(thinkingBytes), isEstimate: false }
  }
  const isMeasured = visible >= MEASURED_TOKENS_MIN && hidden.contentMs >= MEASURED_MS_MIN
  const perSecond = isMeasured ? (visible * 1_000) / hidden.contentMs : USUAL_TOKENS_PER_SECOND
  const tokens = Math.floor((Math.min(perSecond, MOST_TOKENS_PER_SECOND) * hidden.silentMs) / 1_000)
  return { tokens, isEstimate: tokens > 0 }
}

/** An attempt whose answer did not come to its end. */
export interface UnfinishedAttempt {
  produced: Production
  hidden?: HiddenTime
}

/** What is known of an attempt that was cut off. Times in unix ms. */
export function unfinishedAttempt(
  { reasoning }: Candidate,
  { produced, httpStatus, firstTokenAt }: AttemptEnd,
  startedAt: number,
  endedAt: number,
): UnfinishedAttempt {
  // Before its status nothing says that the provider has begun.
  if (!reasoning || httpStatus === null || httpStatus >= 300) return { produced }
  const contentAt = firstTokenAt ?? endedAt
  return { produced, hidden: { silentMs: contentAt - startedAt, contentMs: endedAt - contentAt } }
}
