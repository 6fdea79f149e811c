import { jsonrepair } from 'jsonrepair'

/**
 * Best-effort repair of an answer that was asked to be JSON. Valid JSON and what cannot be made an object
 * or array come back unchanged: prose in quotes would be valid JSON and of no use to anybody.
 */
export function repairJson(content: string): string {
  if (isJson(content)) return content
  try {
    const repaired = jsonrepair(content)
    return /^\s*[[{]/.test(repaired) && isJson(repaired) ? repaired : content
  } catch {
    // Not repairable: the specification leaves the validation of such answers to the client.
    return content
  }
}

/** True when a response_format asks for JSON. */
export function wantsJson(responseFormat: Record<string, unknown> | undefined): boolean {
  return responseFormat?.type === 'json_object' || responseFormat?.type === 'json_schema'
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
