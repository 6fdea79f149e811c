/** How deep a request body may be nested. What goes deeper could not be serialized again: JSON.stringify is recursive. */
export const MAX_NESTING = 256

/** True when arrays and objects are nested deeper than `depth`; looks no deeper than that, so it cannot overflow. */
export function isNestedDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth === 0) return true
  for (const child of Array.isArray(value) ? value : Object.values(value)) {
    if (isNestedDeeperThan(child, depth - 1)) return true
  }
  return false
}
