import type { AttemptFailure, FailureKind } from '../core/failover/attempt-failure.ts'
import {
  type ErrorWords,
  errorOf,
  errorWords,
  failureOfWords,
  kindOfStatus,
  kindOfWords,
  unwrapped,
} from './error-words.ts'

/** Maps refusals and errors on Anthropic's messages wire to failures. */

/** Refusals of our account that have the status 400. */
const STANDING_TEXT = /credit balance|spend(ing)? limit|usage limits?\b|billing/i

const KIND_OF_TYPE: Readonly<Record<string, FailureKind>> = {
  authentication_error: 'refused',
  billing_error: 'refused',
  permission_error: 'refused',
  not_found_error: 'refused',
  rate_limit_error: 'rate-limited',
  request_too_large: 'context-length',
  invalid_request_error: 'bad-request',
}

export function failureOfStatus(
  httpStatus: number,
  body: string,
  retryAfterMs: number | null,
): AttemptFailure {
  const words = wordsOf(errorOf(body))
  const kind = kindOfStatus(httpStatus, words)
  return failureOfWords(withStanding(kind, words), words, httpStatus, retryAfterMs)
}

/** Maps an error event of a stream by its type. */
export function failureOfErrorObject(error: unknown, httpStatus: number): AttemptFailure {
  const words = wordsOf(unwrapped(error))
  const ofType = Object.hasOwn(KIND_OF_TYPE, words.codes) ? KIND_OF_TYPE[words.codes]! : 'server-error'
  const kind = ofType === 'bad-request' ? (kindOfWords(words) ?? ofType) : ofType
  return failureOfWords(withStanding(kind, words), words, httpStatus)
}

const withStanding = (kind: FailureKind, { message }: ErrorWords): FailureKind =>
  kind === 'bad-request' && STANDING_TEXT.test(message) ? 'refused' : kind

/** The wire names the field only in its text: `max_tokens: 100000 > 64000, …`, `messages.0.content: …`. */
function wordsOf(error: unknown): ErrorWords {
  const words = errorWords(error)
  const field = /^`?([a-z_]+)[`.:[]/.exec(words.message)?.[1] ?? null
  return { ...words, param: words.param ?? (field === 'system' ? 'messages' : field) }
}
