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
