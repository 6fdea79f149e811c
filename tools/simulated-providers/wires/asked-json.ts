import type { SimulatedRequest } from '../simulated-request.ts'

/** Reads a system prompt as an obedient model does: whether it asks for JSON, and by which schema. */
export function askedJson(system: string): SimulatedRequest['responseFormat'] {
  if (!/\bJSON value\b/.test(system)) return null
  const schema = /JSON Schema: (\{.*\})/s.exec(system)?.[1]
  return { type: 'json', schema: schema === undefined ? undefined : JSON.parse(schema) }
}
