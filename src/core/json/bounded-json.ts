/** A JSON text, and whether something of the value is missing in it. */
export interface BoundedJson {
  text: string
  isTruncated: boolean
}

/** What stands for media inside a value: its beginning says of which type it is. */
const DATA_URL_CHARS = 64
/** Of the bytes, for strings that are cut: the rest is for escapes, longer characters and what is no string. */
const CUT_SHARE = 0.75

/**
 * A value as JSON of at most `maxBytes`. Strings that are too long are cut and say by how much; data URLs always are, so
 * that an image leaves room for the text beside it. Takes time by the number of values in it, and not by their length.
 */
export function boundedJson(value: unknown, maxBytes: number): BoundedJson {
  const whole = stringify(value, maxBytes)
  const isWhole = whole.text.length <= maxBytes && Buffer.byteLength(whole.text) <= maxBytes
  if (isWhole && !whole.isCut) return { text: whole.text, isTruncated: false }
  const bytes = Buffer.from(stringify(value, Math.floor(maxBytes * CUT_SHARE)).text)
  // Where that is still too much, it is JSON no more. The last character may be half of one.
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
