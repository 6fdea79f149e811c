import type { AttemptFailure, FailureKind } from '../../core/failover/attempt-failure.ts'
import {
  claimedStatus,
  type ErrorWords,
  errorOf,
  errorWords,
  failureOfWords,
  kindOfStatus,
  kindOfWords,
  unwrapped,
} from '../error-words.ts'
import { isObject } from '../response-parts.ts'

/** Refusals of our key, our account or our place that come as a 400. */
const STANDING_CODES = /failed_precondition|api_key_invalid|api_key_expired/
const STANDING_TEXT = /api key (not valid|expired|not found)/i

/** The request's fields by the names that the wire's error texts give them. */
const FIELDS: readonly [RegExp, string][] = [
  [/temperature/i, 'temperature'],
  [/top_?p\b/i, 'top_p'],
  [/max_?output_?tokens/i, 'max_tokens'],
  [/response_?(schema|mime_?type|json_?schema)/i, 'response_format'],
  [/function_?declarations|\btools?\b/i, 'tools'],
  [/\bcontents\b|inline_?data|file_?data|system_?instruction/i, 'messages'],
]

/** Maps a refusal on the generate-content wire. How long to wait is in its body, not in a header. */
export function failureOfStatus(
  httpStatus: number,
  body: string,
  retryAfterMs: number | null,
): AttemptFailure {
  const error = errorOf(body)
  const words = wordsOf(error)
  return failureOfWords(kindOf(httpStatus, words), words, httpStatus, retryAfterMs ?? retryDelayMs(error))
}

/** Maps an error that came in a stream, which carries its status as `code`. */
export function failureOfErrorObject(reported: unknown, httpStatus: number): AttemptFailure {
  const error = unwrapped(reported)
  const words = wordsOf(error)
  const status = isObject(error) ? claimedStatus(error.code) : null
  const kind = status !== null ? kindOf(status, words) : (kindOfWords(words) ?? 'server-error')
  return failureOfWords(kind, words, httpStatus, retryDelayMs(error))
}

function kindOf(httpStatus: number, words: ErrorWords): FailureKind {
  const isStanding = STANDING_CODES.test(words.codes) || STANDING_TEXT.test(words.message)
  return httpStatus === 400 && isStanding ? 'refused' : kindOfStatus(httpStatus, words)
}

function wordsOf(error: unknown): ErrorWords {
  const words = errorWords(error)
  const reasons = detailsOf(error).flatMap(({ reason }) =>
    typeof reason === 'string' ? reason.toLowerCase() : [],
  )
  return {
    codes: [words.codes, ...reasons].join(' '),
    message: words.message,
    param: FIELDS.find(([pattern]) => pattern.test(words.message))?.[1] ?? null,
  }
}

/** `{"@type": "…/google.rpc.RetryInfo", "retryDelay": "34.07s"}` in ms, or null. */
function retryDelayMs(error: unknown): number | null {
  for (const { retryDelay } of detailsOf(error)) {
    const seconds =
      typeof retryDelay === 'string' ? /^(\d{1,6}(?:\.\d+)?)s$/.exec(retryDelay)?.[1] : undefined
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1000)
  }
  return null
}

const detailsOf = (error: unknown): Record<string, unknown>[] =>
  isObject(error) && Array.isArray(error.details) ? error.details.filter(isObject) : []
