/** A JSON text, and whether part of the value is missing. */
export interface BoundedJson {
  text: string
  isTruncated: boolean
}

/** The part of a data URL that is kept, which names its type. */
const DATA_URL_CHARS = 64
/** The share of the bytes for truncated strings; the rest is for escapes, longer characters and other values. */
const CUT_SHARE = 0.75

/**
 * Serializes a value to at most `maxBytes`. Long strings are truncated, with the number of missing characters; data
 * URLs always are, so that an image leaves space for the text. Takes time by the number of values, not by their length.
 */
export function boundedJson(value: unknown, maxBytes: number): BoundedJson {
  const whole = stringify(value, maxBytes)
  const isWhole = whole.text.length <= maxBytes && Buffer.byteLength(whole.text) <= maxBytes
  if (isWhole && !whole.isCut) return { text: whole.text, isTruncated: false }
  const bytes = Buffer.from(stringify(value, Math.floor(maxBytes * CUT_SHARE)).text)
  // If that is still too long, the result is cut off and no longer valid JSON. The last character may be incomplete.
  const text = bytes.toString('utf8', 0, Math.min(bytes.length, maxBytes))
  return { text: bytes.length > maxBytes ? text.replace(/\uFFFD+$/, '') : text, isTruncated: true }
}

/** With at most `maxChars` characters of strings. */
function stringify(value: unknown, maxChars: number): { text: string; isCut: boolean } {
  let left = maxChars
  let isCut = false
  const text = JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== 'string') return part
    const most = part.startsWith('data:') ? Math.min(DATA_URL_CHARS, left) : left
    const isLonger = part.length > most
    isCut ||= isLonger
    left -= Math.min(part.length, most)
    return isLonger ? `${part.slice(0, most)} [${part.length - most} more characters]` : part
  })
  return { text: text ?? 'null', isCut }
}
