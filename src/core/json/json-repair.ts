import { jsonrepair } from 'jsonrepair'
import { findJson, type JsonRoot } from './find-json.ts'

/** Repair is quadratic in the text's length. Longer texts are delivered unchanged. */
const REPAIRED_CHARS_MAX = 32_768
/** Parts of one completion that are tried; the longest is nearly always the requested one. */
const REPAIRS_MAX = 2

/** Whether a completion that should be JSON is invalid, and short enough to be repaired. */
export const mayBeRepaired = (content: string): boolean =>
  content.length <= REPAIRED_CHARS_MAX && parsed(content) === undefined

export interface BrokenAnswer {
  content: string
  root: JsonRoot
}

/**
 * Best-effort repair of a completion for which `mayBeRepaired` is true; may take 100 ms, so not for an event loop.
 * Extracts the object or array from surrounding prose. A completion without one is returned
 * unchanged: prose in quotes or in an array would be valid but useless JSON.
 */
export function repairJson({ content, root }: BrokenAnswer): string {
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
