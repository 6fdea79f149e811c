import { COMMON_CHARACTERS } from './vocabulary-facts.ts'

/** The replacement of a lone surrogate has three bytes. */
const REPLACEMENT_BYTES = 3
/** A letter composed with a combining mark has at most three bytes. */
const COMPOSED_BYTES = 3

/** By UTF-16 code unit; the surrogates' entries are unused. */
const BOUNDS = Float32Array.from({ length: 0x10000 }, (_, code) => unitBound(code))

/** Musical symbols and squared letters are the only pairs that normalize to more bytes. By code point. */
const LENGTHENED = new Map(
  [0x1d000, 0x1f000].flatMap((from) =>
    Array.from({ length: 0x400 }, (_, index): [number, number] => {
      return [from + index, normalizedBytes(String.fromCodePoint(from + index))]
    }),
  ),
)

/** Token bound of the non-ASCII UTF-16 code unit at an index. A surrogate pair counts at its first unit. */
export function characterBound(text: string, index: number): number {
  const code = text.charCodeAt(index)
  if (code < 0xd800 || code > 0xdfff) return BOUNDS[code]!
  if (code >= 0xdc00) return isHigh(text.charCodeAt(index - 1)) ? 0 : REPLACEMENT_BYTES
  if (!isLow(text.charCodeAt(index + 1))) return REPLACEMENT_BYTES
  return LENGTHENED.get(text.codePointAt(index)!) ?? 4
}

const isHigh = (code: number) => code >= 0xd800 && code < 0xdc00
const isLow = (code: number) => code >= 0xdc00 && code <= 0xdfff

/** No UTF-16 code unit counts more. */
export const UNIT_BOUND_MAX = Math.max(...BOUNDS)

function unitBound(code: number): number {
  // A byte-pair encoding can split a common character if its bytes merge with those of its neighbours.
  if (COMMON_CHARACTERS.has(code)) return code < 0x800 ? 1.5 : 2
  const bytes = normalizedBytes(String.fromCharCode(code))
  return code >= 0x300 && code < 0x370 ? Math.max(bytes, COMPOSED_BYTES) : bytes
}

/** UTF-8 bytes of the longest normalization form; some tokenizers normalize first. */
function normalizedBytes(character: string): number {
  const forms = [character, character.normalize('NFC'), character.normalize('NFKC')]
  return Math.max(...forms.map((form) => Buffer.byteLength(form)))
}
