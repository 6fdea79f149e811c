import { jsonrepair } from 'jsonrepair'

/** Repair is quadratic in the text's length. Longer texts are delivered unchanged. */
const REPAIRED_CHARS_MAX = 32_768
/** Parts of one completion that are tried; the longest is nearly always the requested one. */
const REPAIRS_MAX = 2

/** Whether a completion that should be JSON is invalid, and short enough to be repaired. */
export const mayBeRepaired = (content: string): boolean =>
  content.length <= REPAIRED_CHARS_MAX && parsed(content) === undefined

export interface BrokenCompletion {
  content: string
  root: JsonRoot
}

/**
 * Best-effort repair of a completion for which `mayBeRepaired` is true; may take 100 ms, so not for an event loop.
 * Extracts the object or array from surrounding prose. A completion without one is returned
 * unchanged: prose in quotes or in an array would be valid but useless JSON.
 */
export function repairJson({ content, root }: BrokenCompletion): string {
  let repairs = 0
  for (const part of findJson(content, root)) {
    if (isRoot(parsed(part), root)) return part
    if (++repairs > REPAIRS_MAX) break
    const repaired = repairedPart(part)
    if (repaired !== null && isRoot(parsed(repaired), root)) return repaired
  }
  return content
}

function repairedPart(part: string): string | null {
  try {
    return jsonrepair(part)
  } catch {
    // Not repairable: the specification leaves validation of such completions to the client.
    return null
  }
}

/** True when a response_format asks for JSON. */
export function wantsJson(responseFormat: Record<string, unknown> | undefined): boolean {
  return responseFormat?.type === 'json_object' || responseFormat?.type === 'json_schema'
}

/** The required outermost type of a response_format for which `wantsJson` is true. */
export function jsonRootOf(responseFormat: Record<string, unknown> | undefined): JsonRoot {
  if (responseFormat?.type === 'json_object') return 'object'
  const named = responseFormat?.json_schema
  const schema = typeof named === 'object' && named !== null && 'schema' in named ? named.schema : null
  const type = typeof schema === 'object' && schema !== null && 'type' in schema ? schema.type : null
  return type === 'object' || type === 'array' ? type : 'either'
}

function isRoot(value: unknown, root: JsonRoot): boolean {
  if (typeof value !== 'object' || value === null) return false
  return root === 'either' || Array.isArray(value) === (root === 'array')
}

/** The value of a text, or undefined if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON: undefined is the result.
    return undefined
  }
}

export type JsonRoot = 'object' | 'array' | 'either'

const CLOSER_OF: Readonly<Record<string, string>> = { '{': '}', '[': ']' }
/** Beginnings of JSON or attempted JSON. A brace or bracket in prose is mostly followed by words. */
const OBJECT_START = /\{\s*(?:["'}]|[A-Za-z_$][\w$]{0,63}\s*:)/y
const ARRAY_START = /\[\s*(?:[[{"'\]-]|\d|true\b|false\b|null\b)/y
/** Follows a closed part if the value continues. */
const GOES_ON = /^\s*[,:"'[{\d]/
const FENCE = '\n```'

/**
 * The parts of a text that may be a JSON object or array, longest first: models surround JSON with prose or a code
 * fence, and prose contains brackets. Mismatched brackets are tolerated, and an unclosed value
 * extends to its last bracket, or to the end. One pass.
 */
export function findJson(text: string, root: JsonRoot): string[] {
  const found: string[] = []
  let from = 0
  while (from < text.length) {
    const start = nextStart(text, from)
    if (start === null) break
    const end = endOfValue(text, start) ?? endOfOpenValue(text, start)
    if (root === 'either' || (text[start] === '{') === (root === 'object')) found.push(text.slice(start, end))
    from = end
  }
  return found.sort((one, other) => other.length - one.length)
}

function nextStart(text: string, from: number): number | null {
  for (let index = from; index < text.length; index++) {
    const pattern = text[index] === '{' ? OBJECT_START : text[index] === '[' ? ARRAY_START : null
    if (pattern === null) continue
    pattern.lastIndex = index
    if (pattern.test(text)) return index
  }
  return null
}

/** Index after the bracket that closes the one at `start`; null if there is none. */
function endOfValue(text: string, start: number): number | null {
  const open: string[] = []
  let inString = false
  for (let index = start; index < text.length; index++) {
    const character = text[index]!
    if (inString) {
      if (character === '\\') index++
      else if (character === '"') inString = false
    } else if (character === '"') {
      inString = true
    } else if (character === '{' || character === '[') {
      open.push(CLOSER_OF[character]!)
    } else if (character === '}' || character === ']') {
      // A closing bracket of an outer value ends unclosed inner ones.
      const level = open.lastIndexOf(character)
      if (level >= 0) open.length = level
      if (open.length === 0) return index + 1
    }
  }
  return null
}

function endOfOpenValue(text: string, start: number): number {
  const fence = text.indexOf(FENCE, start)
  const end = fence < 0 ? text.length : fence
  const closed = Math.max(text.lastIndexOf('}', end), text.lastIndexOf(']', end)) + 1
  return closed > start && !GOES_ON.test(text.slice(closed, end)) ? closed : end
}
