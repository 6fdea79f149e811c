import { oncePer } from '../kernel/once-per.ts'

/** Properties of JSON text that its value does not show: whether it can be parsed, and what parsing changes. */

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c

export interface JsonLimits {
  /** Levels of arrays and objects. */
  depth: number
  /** Names, entries, arrays and objects together. */
  values: number
  /** To be parsed. Absent: any number. */
  bytes?: number
}

export type JsonScan = 'ok' | 'too-deep' | 'too-many-values' | 'too-long'

/** What a scan reports besides its result. */
export interface JsonListener {
  /** The indexes of the quotes around the name of a member; at level 1, of the outermost object. */
  name(start: number, end: number, level: number): void
  /** A number from `start` on. */
  number(start: number): void
  /** The member of the outermost object that was named last ends before `end`. */
  memberEnd(end: number): void
  /** A string or name between these quotes. Returns whether it need not be parsed. */
  takes(start: number, end: number): boolean
}

/**
 * Whether unparsed JSON is within limits: parsing takes seconds for a million levels or two million
 * names, and milliseconds for as many bytes of text. One pass over UTF-8 that skips strings and does not
 * validate.
 */
export function scanJson(json: Buffer, limits: JsonLimits, listener?: JsonListener): JsonScan {
  let level = 0
  let values = 0
  let stringStart = 0
  let stringEnd = 0
  let end = Math.min(json.length, limits.bytes ?? json.length)
  for (let index = 0; index < end; index++) {
    switch (json[index]) {
      case 0x5b: // [
      case 0x7b: // {
        if (++level > limits.depth) return 'too-deep'
        if (++values > limits.values) return 'too-many-values'
        break
      case COLON:
        if (++values > limits.values) return 'too-many-values'
        listener?.name(stringStart, stringEnd, level)
        break
      case 0x2c: // ,
        if (++values > limits.values) return 'too-many-values'
        if (level === 1) listener?.memberEnd(index)
        break
      case 0x5d: // ]
      case 0x7d: // }
        if (--level === 0) listener?.memberEnd(index)
        break
      case QUOTE:
        stringStart = index
        stringEnd = endOfStringBytes(json, index + 1)
        index = stringEnd
        if (stringEnd - stringStart > READ_BY_BYTE && listener?.takes(stringStart, stringEnd))
          end = Math.min(json.length, end + stringEnd - stringStart)
        break
      case 0x2d: // -
      case 0x30:
      case 0x31:
      case 0x32:
      case 0x33:
      case 0x34:
      case 0x35:
      case 0x36:
      case 0x37:
      case 0x38:
      case 0x39:
        if (!listener) break
        listener.number(index)
        index = endOfNumber(json, index) - 1
        break
    }
  }
  return end < json.length ? 'too-long' : 'ok'
}

/** Index past the number that starts at `start`. */
export function endOfNumber(json: Buffer, start: number): number {
  let end = start + 1
  while (end < json.length && isOfNumber(json[end]!)) end++
  return end
}

/** Digits, and the characters `+`, `-`, `.`, `e` and `E`. */
const isOfNumber = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || byte === 0x2e || (byte | 0x20) === 0x65 || byte === 0x2b || byte === 0x2d

/** Most strings are short, and escaped quotes tend to be frequent: searching for each costs more than reading every byte. */
const READ_BY_BYTE = 256

/** Index of the quote that closes the string whose text begins at `start`, or the end of the bytes. */
function endOfStringBytes(json: Buffer, start: number): number {
  let from = start
  while (from < json.length) {
    for (const stop = Math.min(json.length, from + READ_BY_BYTE); from < stop; from++) {
      if (json[from] === BACKSLASH) from++
      else if (json[from] === QUOTE) return from
    }
    const quote = json.indexOf(QUOTE, from)
    if (quote < 0) return json.length
    let backslashes = 0
    while (quote - backslashes > from && json[quote - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote
    from = quote + 1
  }
  return json.length
}

/** A pair of surrogates, a lone one, or another escape. */
const ESCAPES =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[dD][89a-fA-F][\da-fA-F]{2}|[\s\S])/g

const LONE_CHARS = 6
const SURROGATE = /\\u[dD]/

/** JSON text with U+FFFD in place of lone surrogates, which strict servers refuse. Linear in the text's length. */
export function withoutLoneSurrogates(json: string): string {
  // Serializing escapes them, and nothing else in this way. Faster than two searches of a text with many escapes.
  if (!SURROGATE.test(json)) return json
  return json.replace(ESCAPES, (found) => (found.length === LONE_CHARS ? '\ufffd' : found))
}

/** Maximum nesting of a request body. A deeper one could not be serialized again: JSON.stringify is recursive. */
export const MAX_NESTING = 256

/**
 * True when arrays and objects are nested deeper than `depth`; stops at that depth, so it cannot overflow the
 * stack.
 */
export function isNestedDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth === 0) return true
  for (const child of Array.isArray(value) ? value : Object.values(value)) {
    if (isNestedDeeperThan(child, depth - 1)) return true
  }
  return false
}

/** The JSON of an immutable object, which is written once and released with the object. */
export const jsonOf = oncePer((value: object) => JSON.stringify(value))

/** Fields of a request that hold JSON schemas, which are forwarded as the client wrote them. */
export const EXACT_FIELDS = ['tools', 'response_format'] as const
export type ExactField = (typeof EXACT_FIELDS)[number]

/**
 * JSON of the fields that parsing alters. Without whitespace; equal to the parsed value except for numbers
 * and order.
 */
export type ExactJson = { [field in ExactField]?: string | undefined }

/** Members of a body as they were received, by their values, of those that the bytes state without anything else. */
export type SentJson = ReadonlyMap<unknown, Uint8Array>

/**
 * An object as JSON, using the received bytes of values that have them, and the exact text of members that have one. Beside
 * bytes there are no lone surrogates.
 */
export function stringifyExactly(
  object: Record<string, unknown>,
  exact?: ExactJson,
  sent?: SentJson,
): string | Buffer {
  if (!exact && !sent) return JSON.stringify(object)
  const members = Object.entries(object).filter(([, value]) => value !== undefined)
  const pieces: Uint8Array[] = []
  let text = ''
  for (const [index, [name, value]] of members.entries()) {
    text += `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`
    const bytes = sent?.get(value)
    if (bytes) {
      pieces.push(Buffer.from(withoutLoneSurrogates(text)), bytes)
      text = ''
    } else text += exact?.[name as ExactField] ?? JSON.stringify(value)
  }
  text += members.length === 0 ? '{}' : '}'
  return pieces.length === 0 ? text : Buffer.concat([...pieces, Buffer.from(withoutLoneSurrogates(text))])
}
