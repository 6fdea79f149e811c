import { textPieces } from '../kernel/text-pieces.ts'

const NO_RANK = Number.POSITIVE_INFINITY

/**
 * Counts tokens in a byte-pair vocabulary. The tokens are in typed arrays, which a thread loads within 50 ms and 5 MB;
 * the strings and maps of the usual libraries take a third of a second and 60 MB.
 */
export class BytePairVocabulary {
  readonly #pattern: RegExp
  /** The bytes of all tokens, in the order of their ranks. */
  readonly #bytes: Uint8Array
  /** Start offset of each token, and the end of the last one. */
  readonly #starts: Uint32Array
  /** A hash table of ranks plus one, by the token's bytes; 0 is a free slot. Collisions use the next slot. */
  readonly #slots: Int32Array
  readonly #encoder = new TextEncoder()

  /**
   * @param file in tiktoken's format: one token a line, in the order of their ranks, starting with its bytes in base64
   * @param pattern splits a text into pieces that no token spans; global
   */
  constructor(file: Buffer, pattern: RegExp) {
    this.#pattern = pattern
    const { bytes, starts } = readTokens(file)
    this.#bytes = bytes
    this.#starts = starts
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * starts.length)))
    for (let rank = 0; rank + 1 < starts.length; rank++)
      this.#slots[this.#slotOf(bytes, starts[rank]!, starts[rank + 1]!)] = rank + 1
  }

  /** Counts the tokens of a text. A run of more than 128 characters without a space is cut, see textPieces. */
  count(text: string): number {
    let tokens = 0
    for (const part of textPieces(text))
      for (const piece of part.match(this.#pattern) ?? []) tokens += this.#countPiece(piece)
    return tokens
  }

  #countPiece(piece: string): number {
    const bytes = this.#encoder.encode(piece)
    return this.#rankOf(bytes, 0, bytes.length) === NO_RANK ? this.#countMerged(bytes) : 1
  }

  /** Starts with single bytes, and merges the two neighbours of the lowest rank until none form a token. */
  #countMerged(bytes: Uint8Array): number {
    const starts = Array.from({ length: bytes.length + 1 }, (_, at) => at)
    /** The rank of the token at an index merged with the next one. */
    const rankAt = (index: number) => {
      const end = starts[index + 2]
      return end === undefined ? NO_RANK : this.#rankOf(bytes, starts[index]!, end)
    }
    const ranks = starts.map((_, index) => rankAt(index))
    for (;;) {
      let lowest = 0
      for (let index = 1; index < ranks.length; index++) if (ranks[index]! < ranks[lowest]!) lowest = index
      if (ranks[lowest] === NO_RANK) return starts.length - 1
      starts.splice(lowest + 1, 1)
      ranks.splice(lowest + 1, 1)
      ranks[lowest] = rankAt(lowest)
      if (lowest > 0) ranks[lowest - 1] = rankAt(lowest - 1)
    }
  }

  #rankOf(bytes: Uint8Array, start: number, end: number): number {
    const held = this.#slots[this.#slotOf(bytes, start, end)]!
    return held === 0 ? NO_RANK : held - 1
  }

  /** The slot of a token, or the free slot for it. */
  #slotOf(bytes: Uint8Array, start: number, end: number): number {
    let hash = 0
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193) ^ (hash >>> 15)
    const mask = this.#slots.length - 1
    let slot = hash & mask
    while (this.#slots[slot] !== 0 && !this.#isToken(this.#slots[slot]! - 1, bytes, start, end))
      slot = (slot + 1) & mask
    return slot
  }

  #isToken(rank: number, bytes: Uint8Array, start: number, end: number): boolean {
    const first = this.#starts[rank]!
    if (this.#starts[rank + 1]! - first !== end - start) return false
    for (let at = start; at < end; at++) if (this.#bytes[first + at - start] !== bytes[at]) return false
    return true
  }
}

const LINE_FEED = 10
const SPACE = 32
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Reads the bytes of all tokens and the offset of each. */
function readTokens(file: Uint8Array): { bytes: Uint8Array; starts: Uint32Array } {
  const sextets = new Int8Array(256).fill(-1)
  for (let value = 0; value < BASE64.length; value++) sextets[BASE64.charCodeAt(value)] = value
  const bytes = new Uint8Array(file.length)
  const starts = [0]
  let used = 0
  let at = 0
  while (at < file.length) {
    let bits = 0
    let held = 0
    for (; file[at] !== SPACE; at++) {
      const sextet = sextets[file[at]!]!
      if (sextet < 0) continue
      bits = (bits << 6) | sextet
      held += 6
      if (held >= 8) {
        held -= 8
        bytes[used++] = bits >> held
      }
    }
    starts.push(used)
    at = file.indexOf(LINE_FEED, at) + 1 || file.length
  }
  return { bytes: bytes.slice(0, used), starts: Uint32Array.from(starts) }
}
