/**
 * What each of many English words adds to the difficulty: its static vector multiplied with a linear head, so that a word
 * costs one look-up. Words are identified by the hash that scanText computes.
 */
export interface WordMeanings {
  hashes: Uint32Array
  /** Of 255: rarer words weigh more. */
  weights: Uint8Array
  products: Int8Array
  unit: number
  /** Rows by hash, open addressing; -1 is empty. */
  slots: Int32Array
}

/** As shipped: base64 of uint32 hashes (little endian), uint8 weights and int8 products in units of `unit`, by word. */
export interface WordMeaningsDocument {
  unit: number
  hashes: string
  weights: string
  products: string
}

const SLOT_BITS = 16
const MASK = (1 << SLOT_BITS) - 1

/** Throws if the columns differ in length. */
export function decodeMeanings(document: WordMeaningsDocument): WordMeanings {
  const [hashBytes, weights, products] = [document.hashes, document.weights, document.products].map((text) =>
    Uint8Array.from(Buffer.from(text, 'base64')),
  ) as [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>]
  if (hashBytes.length !== 4 * weights.length || products.length !== weights.length)
    throw new Error('the columns of the word meanings differ in length')
  const hashes = new Uint32Array(hashBytes.buffer)
  const slots = new Int32Array(1 << SLOT_BITS).fill(-1)
  for (const [row, hash] of hashes.entries()) {
    let slot = firstSlot(hash)
    while (slots[slot]! >= 0) slot = (slot + 1) & MASK
    slots[slot] = row
  }
  return { hashes, weights, products: new Int8Array(products.buffer), unit: document.unit, slots }
}

/** FNV's low bits are uneven for short words. */
function firstSlot(hash: number): number {
  const folded = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (folded ^ (folded >>> 13)) & MASK
}

/** A mean is shrunk towards zero by so many words of full weight. */
export const SHRUNK_BY_WORDS = 2
export const FULL_WEIGHT = 255

/** The weighted mean of the products of the known words; zero if none is known. */
export function meanMeaning(words: readonly number[], meanings: WordMeanings): number {
  const { hashes, weights, products, unit, slots } = meanings
  let sum = 0
  let total = SHRUNK_BY_WORDS * FULL_WEIGHT
  for (const word of words) {
    const hash = word >>> 0
    let slot = firstSlot(hash)
    while (slots[slot]! >= 0 && hashes[slots[slot]!] !== hash) slot = (slot + 1) & MASK
    const row = slots[slot]!
    if (row < 0) continue
    total += weights[row]!
    sum += weights[row]! * products[row]!
  }
  return (unit * sum) / total
}
