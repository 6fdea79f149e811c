import type { AttemptFailure } from '../../core/failover/attempt-failure.ts'
import {
  claimedStatus,
  errorOf,
  errorWords,
  failureOfWords,
  kindOfStatus,
  kindOfWords,
  unwrapped,
} from '../error-words.ts'
import { isObject } from '../response-parts.ts'

/**
 * Maps a provider's refusal on the chat-completions wire: an HTTP status of 400 and above with its body.
 * `retryAfterMs` as its header asked.
 */
export function failureOfStatus(
  httpStatus: number,
  body: string,
  retryAfterMs: number | null,
): AttemptFailure {
  const words = errorWords(errorOf(body))
  return failureOfWords(kindOfStatus(httpStatus, words), words, httpStatus, retryAfterMs)
}

/** Maps an error object found in an answer whose status said 200. Its own `code` or `status` may be an HTTP status. */
export function failureOfErrorObject(reported: unknown, httpStatus: number): AttemptFailure {
  const error = unwrapped(reported)
  const words = errorWords(error)
  const fields = isObject(error) ? error : {}
  const claimed = claimedStatus(fields.code, fields.status, fields.status_code)
  // A context or policy refusal is told by its words; anything else in a 200 is a failure on the other side.
  const kind = claimed !== null ? kindOfStatus(claimed, words) : (kindOfWords(words) ?? 'server-error')
  return failureOfWords(kind, words, httpStatus)
}
