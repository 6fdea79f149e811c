/** Required type of the outermost value. */
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
