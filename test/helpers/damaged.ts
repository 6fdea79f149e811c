import fc from 'fast-check'

/** The value with one part of it, somewhere, replaced by anything at all. */
export function damaged(value: unknown): fc.Arbitrary<unknown> {
  const anything = fc.jsonValue({ maxDepth: 2 })
  if (typeof value !== 'object' || value === null) return anything
  const keys = Object.keys(value)
  if (keys.length === 0) return anything
  const within = fc.constantFrom(...keys).chain((key) =>
    damaged((value as Record<string, unknown>)[key]).map((part) => {
      const copy = structuredClone(value) as Record<string, unknown>
      copy[key] = part
      return copy
    }),
  )
  return fc.oneof({ weight: 1, arbitrary: anything }, { weight: 6, arbitrary: within })
}
