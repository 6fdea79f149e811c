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

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * The same for JSON that is not parsed yet, since parsing a million levels takes seconds. One pass, strings
 * skipped; says nothing about whether the text is JSON.
 */
export function isJsonNestedDeeperThan(json: string, depth: number): boolean {
  let level = 0
  for (let index = 0; index < json.length; index++) {
    switch (json.charCodeAt(index)) {
      case 0x5b: // [
      case 0x7b: // {
        if (++level > depth) return true
        break
      case 0x5d: // ]
      case 0x7d: // }
        level--
        break
      case QUOTE:
        index = endOfString(json, index)
        break
    }
  }
  return false
}

/** Index of the quote that closes the string opened at `start`, or the end of the text. */
function endOfString(json: string, start: number): number {
  let end = json.indexOf('"', start + 1)
  while (end >= 0) {
    let backslashes = 0
    while (json.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
    end = json.indexOf('"', end + 1)
  }
  return json.length
}
