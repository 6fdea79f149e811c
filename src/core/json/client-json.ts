import { parse } from 'secure-json-parse'
import {
  EXACT_FIELDS,
  type ExactField,
  type ExactJson,
  endOfNumber,
  isNestedDeeperThan,
  type JsonLimits,
  type JsonListener,
  type JsonScan,
  MAX_NESTING,
  type SentJson,
  scanJson,
  withoutLoneSurrogates,
} from './json-text.ts'
import { type LongString, longString, parseAround } from './long-strings.ts'

/** The result of parsing a body; `exact`: see exactJsonOf, `sent`: sentJsonOf. */
export type ParsedJson =
  | { kind: 'value'; value: unknown; exact: ExactJson | undefined; sent?: SentJson }
  | { kind: Exclude<JsonScan, 'ok'> }
  | { kind: 'invalid' }

/**
 * Parses the JSON of a client, without `__proto__`. One scan of the bytes finds what exceeds the limits, whether
 * anything needs more than JSON.parse, which most bodies do not, and what is copied and not parsed.
 */
export function parseClientJson(json: Buffer, limits: JsonLimits): ParsedJson {
  const notes = new BodyNotes(json)
  const scan = scanJson(json, limits, notes)
  if (scan !== 'ok') return { kind: scan }
  try {
    const parseText = notes.isPlain ? JSON.parse : parseWithoutProto
    const around = notes.long.length > 0 ? parseAround(json, notes.long, parseText) : undefined
    if (around === undefined && json.length > (limits.bytes ?? json.length)) return { kind: 'too-long' }
    const value: unknown = around === undefined ? parseText(json.toString()) : around
    const isSent = notes.isPlain && json.length >= SENT_BYTES_MIN
    const sent = isSent ? sentJsonOf(json, notes.spans, value) : undefined
    return { kind: 'value', value, exact: exactJsonOf(notes.altered, value), ...(sent?.size && { sent }) }
  } catch {
    // The caller reports the error to the sender of the body.
    return { kind: 'invalid' }
  }
}

const ANY_SIZE = { depth: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY }

/** Parses JSON that was checked before, and copies the long base64 in it. Throws as JSON.parse. */
export function parseAroundLong(json: Buffer): unknown {
  const notes = new BodyNotes(json)
  scanJson(json, ANY_SIZE, notes)
  return parseAround(json, notes.long, JSON.parse) ?? JSON.parse(json.toString())
}

const parseWithoutProto = (text: string): unknown =>
  parse(text, { protoAction: 'remove', constructorAction: 'ignore' })

const BACKSLASH = 0x5c
const COLON = 0x3a
const UNDERSCORE = 0x5f
const SENT_FIELDS = [...EXACT_FIELDS, 'messages', 'system'] as const
type SentField = (typeof SENT_FIELDS)[number]
/** The first byte of a byte order mark. */
const BYTE_ORDER_MARK = 0xef
/** A name of as many characters takes at most this many bytes, with its quotes, when each is an escape. */
const escapedBytes = (name: string) => 6 * name.length + 2
const NAME_BYTES_MAX = Math.max(...['__proto__', ...SENT_FIELDS].map(escapedBytes))
/** So many digits are the same number after parsing. */
const SAFE_DIGITS = 15

/** A longer text is mostly whitespace or escapes, or its field is rejected for its size. */
const TEXT_BYTES_MAX = 4 * 1024 * 1024

/** A shorter body is written again sooner than its members are compared. */
const SENT_BYTES_MIN = 16 * 1024

/** The value of a member in the bytes of a body, after its colon, and the names within. */
interface Span {
  start: number
  end: number
  names: number
}

/** What must be known of a body before it is parsed. */
class BodyNotes implements JsonListener {
  /** False where a name may be `__proto__`, or a byte order mark comes first. */
  isPlain: boolean
  /** The JSON of exact fields that parsing may alter; of a duplicate name the last counts, as in JSON.parse. */
  readonly altered = new Map<ExactField, string>()
  readonly long: LongString[] = []
  /** As `altered`. */
  readonly spans = new Map<SentField, Span>()
  readonly #json: Buffer
  #field: SentField | null = null
  #start = 0
  /** Within the member. */
  #names = 0
  #isAltered = false

  constructor(json: Buffer) {
    this.#json = json
    this.isPlain = json[0] !== BYTE_ORDER_MARK
  }

  name(start: number, end: number, level: number): void {
    const first = this.#json[start + 1]!
    const isEscaped = end - start < NAME_BYTES_MAX && this.#hasEscape(start, end)
    if (first === UNDERSCORE || isEscaped) this.isPlain = false
    if (level === 1) {
      this.#field = this.#fieldNamed(start, end, isEscaped)
      this.#start = end + 1
      this.#names = 0
      this.#isAltered = false
      return
    }
    this.#names++
    // Names that are integers come first in a parsed object.
    if ((first >= 0x30 && first <= 0x39) || isEscaped) this.#isAltered = true
  }

  number(start: number): void {
    if (this.#field !== null && !this.#isAltered) this.#isAltered = !this.#isCanonical(start)
  }

  memberEnd(end: number): void {
    const field = this.#field
    if (field === null) return
    this.spans.set(field, { start: this.#json.indexOf(COLON, this.#start) + 1, end, names: this.#names })
    if (!isExact(field)) return
    if (!this.#isAltered || end - this.#start > TEXT_BYTES_MAX) this.altered.delete(field)
    else {
      const text = this.#json.toString('utf8', this.#start, end)
      this.altered.set(field, text.slice(text.indexOf(':') + 1))
    }
  }

  takes(start: number, end: number): boolean {
    const string = longString(this.#json, start + 1, end)
    if (string !== null) this.long.push({ string, start: start + 1, end })
    return string !== null
  }

  #hasEscape(start: number, end: number): boolean {
    for (let index = start; index < end; index++) if (this.#json[index] === BACKSLASH) return true
    return false
  }

  #fieldNamed(start: number, end: number, isEscaped: boolean): SentField | null {
    const chars = end - start - 1
    const mayBe = isEscaped || SENT_FIELDS.some(({ length }) => length === chars)
    if (!mayBe) return null
    const name = this.#json.toString('utf8', start, end + 1)
    const matches = (field: SentField) => name === `"${field}"` || (isEscaped && unescaped(name) === field)
    return SENT_FIELDS.find(matches) ?? null
  }

  /** Whether a number is written as JSON.stringify writes it. */
  #isCanonical(start: number): boolean {
    const end = endOfNumber(this.#json, start)
    let digits = 0
    while (start + digits < end && this.#json[start + digits]! >= 0x30) digits++
    if (digits === end - start && digits <= SAFE_DIGITS) return true
    const text = this.#json.toString('latin1', start, end)
    return String(Number(text)) === text
  }
}

const isExact = (field: SentField): field is ExactField => EXACT_FIELDS.some((exact) => exact === field)

function unescaped(name: string): unknown {
  try {
    return JSON.parse(name)
  } catch {
    // Not JSON, and then neither is the body.
    return undefined
  }
}

/**
 * The exact text of schemas that parsing a body alters: numbers beyond 2^53 or in non-canonical form (1.0), and the
 * order of integer names. Undefined if nothing is altered. A field with a duplicate name or `__proto__`
 * is omitted, because its text contains more than the value that was checked. Linear in the texts' length.
 * @param texts the JSON of the fields that may be altered
 * @param value the parsed body
 */
function exactJsonOf(texts: ReadonlyMap<ExactField, string>, value: unknown): ExactJson | undefined {
  const exact: ExactJson = {}
  for (const [field, text] of texts) {
    const checked = (value as Record<string, unknown>)[field]
    // Deeper nesting is rejected later, and could not be serialized here.
    if (isNestedDeeperThan(checked, MAX_NESTING - 1)) continue
    const parsed = JSON.stringify(checked)
    const written = compact(text)
    if (written.json !== parsed && written.names === compact(parsed).names) exact[field] = written.json
  }
  return Object.keys(exact).length > 0 ? exact : undefined
}

/** Clients that write ASCII alone escape pairs of surrogates, which are well. */
function hasLoneSurrogate(json: Buffer): boolean {
  if (!json.includes('\\u')) return false
  const text = json.toString('latin1')
  return withoutLoneSurrogates(text) !== text
}

/**
 * The bytes of long members that may be sent as they are: without a name that stands twice, of which providers may read
 * another than we do, and without lone surrogates.
 */
function sentJsonOf(json: Buffer, spans: ReadonlyMap<SentField, Span>, value: unknown): SentJson {
  const sent = new Map<unknown, Uint8Array>()
  for (const [field, { start, end, names }] of spans) {
    const bytes = json.subarray(start, end)
    const read = (value as Record<string, unknown>)[field]
    if (namesIn(read, MAX_NESTING - 1) === names && !hasLoneSurrogate(bytes)) sent.set(read, bytes)
  }
  return sent
}

/** How many names a value holds; NaN if it is nested deeper than `depth`. */
function namesIn(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (depth === 0) return Number.NaN
  let names = 0
  if (Array.isArray(value)) for (const part of value) names += namesIn(part, depth - 1)
  else for (const name in value) names += 1 + namesIn((value as Record<string, unknown>)[name], depth - 1)
  return names
}

/** JSON without whitespace, its strings written as JSON.stringify writes them, and how many names it holds. */
function compact(text: string): { json: string; names: number } {
  const parts: string[] = []
  let names = 0
  let start = 0
  for (let index = 0; index < text.length; index++) {
    switch (text[index]) {
      case '"': {
        parts.push(text.slice(start, index))
        start = endOfString(text, index)
        const string = text.slice(index, start)
        parts.push(string.includes('\\') ? JSON.stringify(JSON.parse(string)) : string)
        index = start - 1
        break
      }
      case ':':
        names++
        break
      case ' ':
      case '\t':
      case '\n':
      case '\r':
        if (start < index) parts.push(text.slice(start, index))
        start = index + 1
        break
    }
  }
  parts.push(text.slice(start))
  return { json: parts.join(''), names }
}

/** Index past the string that begins at `start`, of valid JSON. */
function endOfString(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); ; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0
    while (json.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote + 1
  }
}
