/** The result of one attempt to deliver an event to an endpoint. */
export type AttemptResult =
  | { kind: 'answered'; statusCode: number; retryAfterMs: number | null; durationMs: number }
  /** No response: address rejected, no connection, or deadline exceeded. `error` is the reason, for the log. */
  | { kind: 'unanswered'; error: string; durationMs: number }

/** What to do after an attempt. `gone`: the endpoint requested no further events. */
export type AfterAttempt =
  | { kind: 'delivered' }
  | { kind: 'retry'; delayMs: number }
  | { kind: 'give-up' }
  | { kind: 'gone' }

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** The delays between attempts: eleven attempts over about 28 hours. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  1 * HOUR,
  2 * HOUR,
  4 * HOUR,
  8 * HOUR,
  12 * HOUR,
]

/** Relative jitter of a delay, so that deliveries that failed together are not retried together. */
const JITTER = 0.2
/** Maximum delay that an endpoint's Retry-After can request. */
const RETRY_AFTER_MAX_MS = 1 * HOUR

/**
 * Decides after attempt number `attempts` (from 1). Any 2xx is delivered, 410 disables the endpoint, anything
 * else, including redirects, is retried until the delays are used up. `random` is drawn from [0, 1).
 */
export function afterAttempt(
  result: AttemptResult,
  attempts: number,
  delaysMs: readonly number[],
  random: number,
): AfterAttempt {
  if (result.kind === 'answered') {
    if (result.statusCode >= 200 && result.statusCode < 300) return { kind: 'delivered' }
    if (result.statusCode === 410) return { kind: 'gone' }
  }
  const delayMs = delaysMs[attempts - 1]
  if (delayMs === undefined) return { kind: 'give-up' }
  const jittered = Math.round(delayMs * (1 - JITTER + 2 * JITTER * random))
  const asked = result.kind === 'answered' ? (result.retryAfterMs ?? 0) : 0
  return { kind: 'retry', delayMs: Math.max(jittered, Math.min(asked, RETRY_AFTER_MAX_MS)) }
}
