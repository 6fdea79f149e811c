/** Properties of JSON text that its value does not show: whether it can be parsed, and what parsing changes. */

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c

export interface JsonLimits {
  /** Levels of arrays and objects. */
  depth: number
  /** Names, entries, arrays and objects together. */
  values: number
}

export type JsonScan = 'ok' | 'too-deep' | 'too-many-values'

/**
 * Whether unparsed JSON is within limits: parsing takes seconds for a million levels or two million
 * names, and milliseconds for as many bytes of text. One pass over UTF-8 that skips strings and does not
 * validate.
 */
export function scanJson(json: Buffer, limits: JsonLimits): JsonScan {
  let level = 0
  let values = 0
  for (let index = 0; index < json.length; index++) {
    switch (json[index]) {
      case 0x5b: // [
      case 0x7b: // {
        if (++level > limits.depth) return 'too-deep'
        if (++values > limits.values) return 'too-many-values'
        break
      case 0x2c: // ,
      case 0x3a: // :
        if (++values > limits.values) return 'too-many-values'
        break
      case 0x5d: // ]
      case 0x7d: // }
        level--
        break
      case QUOTE:
        index = endOfStringBytes(json, index + 1)
        break
    }
  }
  return 'ok'
}

/** Escaped quotes tend to be frequent, and searching for each one costs more than reading every byte. */
const READ_BY_BYTE = 256

/** Index of the quote that closes the string whose text begins at `start`, or the end of the bytes. */
function endOfStringBytes(json: Buffer, start: number): number {
  let from = start
  while (from < json.length) {
    const quote = json.indexOf(QUOTE, from)
    if (quote < 0) return json.length
    let backslashes = 0
    while (quote - backslashes > from && json[quote - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote
    from = quote + 1
    for (const stop = Math.min(json.length, from + READ_BY_BYTE); from < stop; from++) {
      if (json[from] === BACKSLASH) from++
      else if (json[from] === QUOTE) return from
    }
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

/** Fields of a request that hold JSON schemas, which are forwarded as the client wrote them. */
const EXACT_FIELDS = ['tools', 'response_format'] as const
type ExactField = (typeof EXACT_FIELDS)[number]

/** A longer text is mostly whitespace or escapes, or its field is rejected for its size. */
const TEXT_CHARS_MAX = 4 * 1024 * 1024

/**
 * JSON of the fields that parsing alters. Without whitespace; equal to the parsed value except for numbers
 * and order.
 */
export type ExactJson = { [field in ExactField]?: string | undefined }

/**
 * The exact text of schemas that parsing a body alters: numbers beyond 2^53 or in non-canonical form (1.0), and the
 * order of integer names. Undefined if nothing is altered. A field with a duplicate name or `__proto__`
 * is omitted, because its text contains more than the value that was checked. Linear in the body's length.
 * @param json the body, which is valid JSON
 * @param value its parsed value
 */
export function exactJsonOf(json: string, value: unknown): ExactJson | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const fields = EXACT_FIELDS.filter((field) => field in value)
  // Deeper nesting is rejected later, and could not be serialized here.
  if (fields.length === 0 || isNestedDeeperThan(value, MAX_NESTING)) return undefined
  const exact: ExactJson = {}
  const texts = memberTexts(json, fields)
  for (const field of fields) {
    const text = texts.get(field)
    if (text === undefined || text.length > TEXT_CHARS_MAX) continue
    const parsed = JSON.stringify((value as Record<string, unknown>)[field])
    if (text === parsed) continue
    const written = compact(text)
    if (written.json !== parsed && written.names === compact(parsed).names) exact[field] = written.json
  }
  return Object.keys(exact).length > 0 ? exact : undefined
}

/** An object as JSON, using the exact text of members that have one. */
export function stringifyExactly(object: Record<string, unknown>, exact?: ExactJson): string {
  if (!exact) return JSON.stringify(object)
  const members = Object.entries(object).flatMap(([name, value]) => {
    if (value === undefined) return []
    return `${JSON.stringify(name)}:${exact?.[name as ExactField] ?? JSON.stringify(value)}`
  })
  return `{${members.join(',')}}`
}

/** The texts of some members of the outermost object; the last of a duplicate name, as in JSON.parse. */
function memberTexts(json: string, names: readonly string[]): Map<string, string> {
  const found = new Map<string, string>()
  let level = 0
  let lastString = { start: 0, end: 0 }
  let name = ''
  let start = 0
  const endMember = (end: number) => {
    if (names.includes(name)) found.set(name, json.slice(start, end))
  }
  for (let index = 0; index < json.length; index++) {
    switch (json.charCodeAt(index)) {
      case QUOTE: {
        const end = endOfString(json, index)
        if (level === 1) lastString = { start: index, end }
        index = end - 1
        break
      }
      case COLON:
        if (level !== 1) break
        name = JSON.parse(json.slice(lastString.start, lastString.end))
        start = index + 1
        break
      case 0x2c: // ,
        if (level === 1) endMember(index)
        break
      case 0x5b: // [
      case 0x7b: // {
        level++
        break
      case 0x5d: // ]
      case 0x7d: // }
        if (--level === 0) endMember(index)
        break
    }
  }
  return found
}

/** JSON without whitespace, its strings written as JSON.stringify writes them, and how many names it holds. */
function compact(text: string): { json: string; names: number } {
  const parts: string[] = []
  let names = 0
  let start = 0
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case QUOTE: {
        parts.push(text.slice(start, index))
        start = endOfString(text, index)
        const string = text.slice(index, start)
        parts.push(string.includes('\\') ? JSON.stringify(JSON.parse(string)) : string)
        index = start - 1
        break
      }
      case COLON:
        names++
        break
      case 0x20:
      case 0x09:
      case 0x0a:
      case 0x0d: // whitespace
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
