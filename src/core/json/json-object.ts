/** A JSON object. */
export type Fields = Record<string, unknown>

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
