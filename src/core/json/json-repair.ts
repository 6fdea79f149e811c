import { jsonrepair } from 'jsonrepair'
import { findJson, type JsonRoot } from './find-json.ts'

/** A repair takes up to the square of the text's length. What is longer is delivered as it came. */
const REPAIRED_CHARS_MAX = 32_768
/** Parts of one answer that are repaired; the longest is nearly always the one that was asked for. */
const REPAIRS_MAX = 2

/** Whether an answer that was asked to be JSON is none, and short enough to be repaired. */
export const mayBeRepaired = (content: string): boolean =>
  content.length <= REPAIRED_CHARS_MAX && parsed(content) === undefined

export interface BrokenAnswer {
  content: string
  root: JsonRoot
}

/**
 * Best-effort repair of an answer for which `mayBeRepaired`; may take a tenth of a second, so not for an event loop.
 * The object or array is taken out of whatever prose stands around it. An answer that holds none comes back
 * unchanged: prose in quotes or in an array would be valid JSON and of no use to anybody.
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
    // Not repairable: the specification leaves the validation of such answers to the client.
    return null
  }
}

/** True when a response_format asks for JSON. */
export function wantsJson(responseFormat: Record<string, unknown> | undefined): boolean {
  return responseFormat?.type === 'json_object' || responseFormat?.type === 'json_schema'
}

/** What a response_format for which `wantsJson` asks the outermost value to be. */
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

/** The value of a text, or undefined when it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // That is what was asked.
    return undefined
  }
}
