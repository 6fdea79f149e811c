import { OMITTABLE_FIELDS } from '../core/catalog/catalog.ts'
import { type AttemptFailure, attemptFailure, type FailureKind } from '../core/failover/attempt-failure.ts'
import { isNestedDeeperThan, MAX_NESTING } from '../core/json/json-text.ts'
import { isObject } from './wire.ts'

/** The texts of an error object, in the spellings of today's providers. */
export interface ErrorWords {
  /** `code` and `type`, in lower case. */
  codes: string
  message: string
  /** The field of the request that the error is about; null if it names none. */
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

/** What a request asks of a server that lacks it, as self-hosted servers say it with a status of 500. */
const ABILITY = '(image|audio|video|vision|multimodal|file|document|tool|function|thinking|reasoning)s?'
const LACKING_TEXT = new RegExp(
  `\\b${ABILITY}( \\w+){0,2} (is|are) not supported|(does not|doesn't|do not|don't) support (\\w+ ){0,2}${ABILITY}\\b|not a multimodal model|missing data required for (image|audio) input`,
  'i',
)

/** The model made a call that its provider does not accept, or none where one is demanded. */
const TOOL_CALL_CODES = /tool_use_failed|(malformed_function|unexpected_tool)_call|too_many_tool_calls/
const TOOL_CALL_HINTS: readonly [RegExp, string][] = [
  [/not match schema|validation failed/i, 'the arguments of a tool call do not fit the schema of the tool'],
  [/did not call a tool|choice is required/i, 'the model called no tool although `tool_choice` demands it'],
  [/not in request|choice is none/i, 'the model called a tool that the request does not allow'],
]

/** Categories of content policies. No other words of a refusal are shown to clients. */
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

/** The fields that the gateway sends. A client is shown no other field name of a provider's refusal. */
const FORWARDED_FIELDS: readonly string[] = [
  'messages',
  'max_tokens',
  'max_completion_tokens',
  ...OMITTABLE_FIELDS.filter((field) => field !== 'stream_options'),
]
/** A field that a message has in quotation marks: `Unsupported value: 'temperature' does not …`. */
const FIELD_IN_QUOTES = /["'`]([a-z_]+)(?=["'`.[])/g
/** A field whose name is not an English word: `Invalid schema for response_format 'q'`. */
const FIELD_WITH_UNDERSCORE = /\b[a-z]+(?:_[a-z]+)+\b/g

/** The texts of an error object, or of an error that is only a text. */
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

/** The message as text; a list of errors as JSON. */
function textIn(message: unknown): string {
  if (typeof message === 'string') return message.slice(0, WORDS_CHARS_MAX)
  if (message === undefined || message === null || isNestedDeeperThan(message, MAX_NESTING)) return ''
  return JSON.stringify(message).slice(0, WORDS_CHARS_MAX)
}

/** The error in a response body of any shape. */
export function errorOf(body: string): unknown {
  try {
    return unwrapped(JSON.parse(body))
  } catch {
    // Not JSON: the page of a proxy. The status alone determines the failure.
    return null
  }
}

/** The error without its wrappers: providers, and proxies before them, put it in arrays or in one or more `error` fields. */
export function unwrapped(error: unknown): unknown {
  let inner = error
  for (let wrap = 0; wrap < WRAPS_MAX; wrap++) {
    const next: unknown = Array.isArray(inner) ? inner[0] : isObject(inner) ? inner.error : null
    // An object with a message says more than an `error` field that is a single word.
    const isWord = typeof next === 'string' && isObject(inner) && typeof inner.message === 'string'
    if (next === null || next === undefined || next === '' || isWord) return inner
    inner = next
  }
  return inner
}

/** The HTTP status in one of the error's fields, or null. */
export function claimedStatus(...claims: unknown[]): number | null {
  for (const claim of claims) {
    if (typeof claim !== 'number' && typeof claim !== 'string') continue
    const status = Number(claim)
    if (status >= 400 && status < 600) return status
  }
  return null
}

/** The kind of failure of a status, with the error's texts. */
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
      if (httpStatus >= 500) return LACKING_TEXT.test(words.message) ? 'bad-request' : 'server-error'
      // Some providers report their content policy as 403. Without such a code a 403 is about our account.
      if (httpStatus === 403 && POLICY_CODES.test(words.codes)) return 'content-policy'
      return 'refused'
  }
}

/** The kind of failure that the texts alone identify, or null. */
export function kindOfWords({ codes, message }: ErrorWords): FailureKind | null {
  if (CONTEXT_CODES.test(codes)) return 'context-length'
  if (POLICY_CODES.test(codes)) return 'content-policy'
  if (/rate_limit/.test(codes)) return 'rate-limited'
  if (TOOL_CALL_CODES.test(codes)) return 'server-error'
  if (CONTEXT_TEXT.test(message)) return 'context-length'
  if (POLICY_TEXT.test(message)) return 'content-policy'
  return null
}

/**
 * A failure of a kind that an error's texts identify. `providerMessage` is the unchanged text: the caller, which
 * knows the request, redacts it.
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
  if (kind === 'server-error' && TOOL_CALL_CODES.test(codes)) {
    const found = TOOL_CALL_HINTS.find(([pattern]) => pattern.test(message))
    return `tool_use_failed: ${found?.[1] ?? 'the model made an invalid tool call'}`
  }
  if (kind === 'bad-request') {
    const named = [
      param?.split(/[.[]/)[0],
      ...Array.from(message.matchAll(FIELD_IN_QUOTES), ([, field]) => field),
      ...Array.from(message.matchAll(FIELD_WITH_UNDERSCORE), ([field]) => field),
    ]
    const field = named.find((field) => field !== undefined && FORWARDED_FIELDS.includes(field))
    return field ?? (LACKING_TEXT.test(message) ? fieldOfLacking(message) : null)
  }
  return null
}

const fieldOfLacking = (message: string): string => {
  if (/thinking|reasoning/i.test(message)) return 'reasoning_effort'
  return /tool|function/i.test(message) ? 'tools' : 'messages'
}

/** Only words that look like codes, because a message may repeat the prompt, which must not be stored. */
const internalText = ({ codes }: ErrorWords): string => codes.replace(/[^\w .:-]/g, '').slice(0, 120)
