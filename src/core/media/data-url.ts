export interface DataUrl {
  /** Lowercase, without parameters; empty if the URL has none. */
  mediaType: string
  /** Whether `data` is base64; otherwise it is percent-encoded. */
  isBase64: boolean
  data: string
}

const HEADER_MAX = 256
const HEADER = /^data:([\w.+-]+\/[\w.+-]+)?((?:;[^;,]*)*),/i
/** Lines may be wrapped as in MIME. Each character matches one place only, or a mismatch would take quadratic time. */
const BASE64 = /^[A-Za-z0-9+/\r\n]+(?:={1,2}[\r\n]*)?$/

/** Parses a data URL; null if it is not one. */
export function parseDataUrl(url: string): DataUrl | null {
  const match = HEADER.exec(url.slice(0, HEADER_MAX))
  if (!match) return null
  const isBase64 = /;\s*base64$/i.test(match[2]!)
  return { mediaType: (match[1] ?? '').toLowerCase(), isBase64, data: url.slice(match[0].length) }
}

export const isBase64 = (text: string): boolean => isPlainBase64(text) || BASE64.test(text)

const CHARS_AT_ONCE = 64 * 1024
const decoded = Buffer.allocUnsafe((CHARS_AT_ONCE / 4) * 3)

/** Whether a text is base64 without line ends. A decoder skips what is not base64, ten times faster than a pattern reads it. */
export function isPlainBase64(text: string): boolean {
  const chars = text.length - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0)
  // A last character without a partner would be skipped in any case.
  if (chars === 0 || chars % 4 === 1) return false
  for (let from = 0; from < chars; from += CHARS_AT_ONCE) {
    const part = text.slice(from, Math.min(from + CHARS_AT_ONCE, chars))
    if (decoded.write(part, 'base64') !== Math.floor((part.length * 3) / 4)) return false
  }
  // The decoder takes the alphabet of URLs as well.
  return !text.includes('-') && !text.includes('_')
}

/** Upper bound of the decoded bytes of a base64 text. */
export const decodedLength = (base64: string): number => Math.ceil((base64.length * 3) / 4)

/**
 * The text of a data URL. Null if it is not UTF-8, or its encoding is broken.
 */
export function decodeText({ isBase64: encoded, data }: DataUrl): string | null {
  try {
    if (!encoded) return decodeURIComponent(data)
    if (data !== '' && !isBase64(data)) return null
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(data, 'base64'))
  } catch (error) {
    // Both decoders throw these only for undecodable input.
    if (error instanceof TypeError || error instanceof URIError) return null
    throw error
  }
}

/** Decodes some bytes in the middle of a base64 text without the rest; fewer if it ends earlier. */
export function bytesAt(base64: string, offset: number, length: number): Buffer {
  const group = Math.floor(offset / 3)
  const skipped = offset - group * 3
  const groups = Math.ceil((skipped + length) / 3)
  return Buffer.from(base64.slice(group * 4, (group + groups) * 4), 'base64').subarray(
    skipped,
    skipped + length,
  )
}
