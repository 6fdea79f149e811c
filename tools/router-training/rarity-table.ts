import ranks from 'gpt-tokenizer/bpeRanks/r50k_base'
import { hashWord, RAREST, RARITY_BITS, slotOf } from '../../src/core/auto/difficulty/scan-text.ts'

const WHOLE_WORD = /^ [A-Za-z]+$/

/**
 * How rare English words are, from a vocabulary of byte pairs (gpt-tokenizer's r50k_base, MIT): a pair was
 * merged the sooner the more common it was, so a word's rank measures its rarity. Words that are no single token are
 * the rarest.
 */
export function rarityTable(): Uint8Array {
  const table = new Uint8Array(1 << RARITY_BITS).fill(RAREST)
  for (const [rank, token] of ranks.entries()) {
    if (typeof token !== 'string' || !WHOLE_WORD.test(token)) continue
    const slot = slotOf(hashWord(token.slice(1).toLowerCase()), RARITY_BITS)
    const level = Math.min(RAREST - 1, Math.floor(Math.log2(1 + rank / 64) * 1.5))
    table[slot] = Math.min(table[slot]!, level)
  }
  return table
}

/** Two slots a byte, the first in the low half. */
export function encodeRarity(table: Uint8Array): string {
  const bytes = Buffer.alloc(table.length / 2)
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = table[2 * index]! | (table[2 * index + 1]! << 4)
  }
  return bytes.toString('base64')
}
