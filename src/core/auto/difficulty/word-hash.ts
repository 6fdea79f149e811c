/** The hash of a word before its first letter (FNV-1a, 32 bits). */
export const EMPTY_WORD = 0x811c9dc5 | 0

/** The hash of a word with one more UTF-16 code unit. */
export const extendWord = (hash: number, code: number): number => Math.imul(hash ^ code, 0x01000193)

/** The hash of a whole word, in lower case already. */
export function hashWord(word: string): number {
  let hash = EMPTY_WORD
  for (let index = 0; index < word.length; index++) hash = extendWord(hash, word.charCodeAt(index))
  return hash
}

/** The place of a word in a table of 2^bits slots; every bit of the hash counts (MurmurHash3's finalizer). */
export function slotOf(hash: number, bits: number): number {
  let mixed = hash ^ (hash >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed ^= mixed >>> 13
  mixed = Math.imul(mixed, 0xc2b2ae35)
  mixed ^= mixed >>> 16
  return (mixed >>> 0) & ((1 << bits) - 1)
}
