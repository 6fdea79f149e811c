import { OMITTABLE_FIELDS } from '../core/catalog/catalog.ts'
import { type AttemptFailure, attemptFailure, type FailureKind } from '../core/failover/attempt-failure.ts'
import { isNestedDeeperThan, MAX_NESTING } from '../core/json/json-text.ts'
import { isObject } from './wire.ts'

/** What an error object says, in the spellings of today's providers. */
export interface ErrorWords {
  /** `code` and `type`, lower case. */
  codes: string
  message: string
  /** The field of the request that it is about, if it says so. */
  param: string | null
}

const WORDS_CHARS_MAX = 4_000
const WRAPS_MAX = 4

const CONTEXT_CODES = /context_length|context_window|string_above_max|prompt_too_long|tokens_limit/
const CONTEXT_TEXT =
  /context (length|window|size)|maximum context|(prompt|input|request|messages?) (is|are|was) too (long|large)|too many (input )?tokens|exceeds? .{0,40}(token|context) ?(limit|length|window)|token count .{0,40}exceeds|exceed context limit|reduce the length/i
const POLICY_CODES =
  /content_policy|content_filter|contentfilter|responsibleai|moderation|safety|policy_violation|prompt_blocked|censorship/
const POLICY_TEXT =
  /content (management )?(policy|policies|filter)|usage polic|safety (system|filter|polic)|flagged (as|by|for)|moderation/i

/** Categories of content policies; the only words of a refusal that are shown. */
const POLICY_CATEGORIES: readonly [RegExp, string][] = [
  [/self[-_ ]?harm|suicide/i, 'self-harm'],
  [/sexual|nudity|adult content/i, 'sexual content'],
  [/\bhate|hateful/i, 'hate'],
  [/harass/i, 'harassment'],
  [/violen|graphic/i, 'violence'],
  [/jailbreak|prompt injection/i, 'jailbreak'],
  [/illicit|illegal|weapon|drugs/i, 'illicit acts'],
  [/copyright|protected[-_ ]material|recitation/i, 'protected material'],
  [/\bminors?\b|child/i, 'child safety'],
  [/personal (data|information)|\bpii\b/i, 'personal data'],
  [/profan/i, 'profanity'],
]

/** Fields we forward, and so the only ones a provider's refusal may name to a client. */
const FORWARDED_FIELDS: readonly string[] = [
  'messages',
  'max_tokens',
  'max_completion_tokens',
  ...OMITTABLE_FIELDS.filter((field) => field !== 'stream_options'),
]
/** A field that a message names in quotation marks: `Unsupported value: 'temperature' does not …`. */
const FIELD_IN_QUOTES = /["'`]([a-z_]+)(?=["'`.[])/g
/** A field whose name is no English word: `Invalid schema for response_format 'q'`. */
const FIELD_WITH_UNDERSCORE = /\b[a-z]+(?:_[a-z]+)+\b/g

/** The words of an error object, or of an error that is a bare text. */
export function errorWords(error: unknown): ErrorWords {
  if (typeof error === 'string') return { codes: '', message: error.slice(0, WORDS_CHARS_MAX), param: null }
  if (!isObject(error)) return { codes: '', message: '', param: null }
  const inner = isObject(error.innererror) ? error.innererror : {}
  const codes = [error.code, error.type, error.status, inner.code].filter(
    (code) => typeof code === 'string' || typeof code === 'number',
  )
  return {
    codes: codes.join(' ').slice(0, WORDS_CHARS_MAX).toLowerCase(),
    message: textIn(error.message ?? error.detail),
    param: typeof error.param === 'string' ? error.param : null,
  }
}

/** A message as it came, or as JSON where it is a list of complaints. */
function textIn(message: unknown): string {
  if (typeof message === 'string') return message.slice(0, WORDS_CHARS_MAX)
  if (message === undefined || message === null || isNestedDeeperThan(message, MAX_NESTING)) return ''
  return JSON.stringify(message).slice(0, WORDS_CHARS_MAX)
}

/** The error of a body, which may be a reply of any shape. */
export function errorOf(body: string): unknown {
  try {
    return unwrapped(JSON.parse(body))
  } catch {
    // Not JSON: a proxy's page. The status says what can be known.
    return null
  }
}

/** The error itself: providers, and proxies before them, wrap it in arrays, in `error` of `error`, or not at all. */
export function unwrapped(error: unknown): unknown {
  let inner = error
  for (let wrap = 0; wrap < WRAPS_MAX; wrap++) {
    const next: unknown = Array.isArray(inner) ? inner[0] : isObject(inner) ? inner.error : null
    // A text of its own says more than a bare word beside it.
    const isWord = typeof next === 'string' && isObject(inner) && typeof inner.message === 'string'
    if (next === null || next === undefined || next === '' || isWord) return inner
    inner = next
  }
  return inner
}

/** The HTTP status that an error claims in one of its fields, or null. */
export function claimedStatus(...claims: unknown[]): number | null {
  for (const claim of claims) {
    if (typeof claim !== 'number' && typeof claim !== 'string') continue
    const status = Number(claim)
    if (status >= 400 && status < 600) return status
  }
  return null
}

/** What a status means, with the words that came with it. */
export function kindOfStatus(httpStatus: number, words: ErrorWords): FailureKind {
  switch (httpStatus) {
    case 429:
      return 'rate-limited'
    case 400:
    case 422:
      return kindOfWords(words) ?? 'bad-request'
    case 413:
      return 'context-length'
    case 408:
    case 409:
    case 425:
    case 499:
      return 'server-error'
    default:
      if (httpStatus >= 500) return 'server-error'
      // 403 is how some providers report their content policy; without such a code it is about our standing.
      if (httpStatus === 403 && POLICY_CODES.test(words.codes)) return 'content-policy'
      return 'refused'
  }
}

/** What the words alone tell, or null. */
export function kindOfWords({ codes, message }: ErrorWords): FailureKind | null {
  if (CONTEXT_CODES.test(codes)) return 'context-length'
  if (POLICY_CODES.test(codes)) return 'content-policy'
  if (/rate_limit/.test(codes)) return 'rate-limited'
  if (CONTEXT_TEXT.test(message)) return 'context-length'
  if (POLICY_TEXT.test(message)) return 'content-policy'
  return null
}

/**
 * The failure of a kind that some words tell of. Its `providerMessage` is the text as it came: whoever knows the request
 * removes what may not be kept of it.
 */
export function failureOfWords(
  kind: FailureKind,
  words: ErrorWords,
  httpStatus: number,
  retryAfterMs: number | null = null,
): AttemptFailure {
  return attemptFailure(kind, internalText(words), {
    httpStatus,
    retryAfterMs: kind === 'rate-limited' ? retryAfterMs : null,
    hint: hintFor(kind, words),
    providerMessage: words.message === '' ? null : words.message,
  })
}

function hintFor(kind: FailureKind, { codes, message, param }: ErrorWords): string | null {
  if (kind === 'content-policy') {
    const text = `${codes} ${message}`
    const found = POLICY_CATEGORIES.filter(([pattern]) => pattern.test(text)).map(([, name]) => name)
    return found.length > 0 ? found.join(', ') : null
  }
  if (kind === 'bad-request') {
    const named = [
      param?.split(/[.[]/)[0],
      ...Array.from(message.matchAll(FIELD_IN_QUOTES), ([, field]) => field),
      ...Array.from(message.matchAll(FIELD_WITH_UNDERSCORE), ([field]) => field),
    ]
    return named.find((field) => field !== undefined && FORWARDED_FIELDS.includes(field)) ?? null
  }
  return null
}

/** Only words that look like codes: a message may repeat the prompt, which rests nowhere. */
const internalText = ({ codes }: ErrorWords): string => codes.replace(/[^\w .:-]/g, '').slice(0, 120)
