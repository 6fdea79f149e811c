/**
 * Brings `src/core/text-tokens/vocabulary-facts.json` up to the vocabularies that are installed: what one of them does
 * not have in common with the rest is taken out. Facts are only ever widened, so a vocabulary that is too large to
 * stay a dependency can be added to `vocabularies.ts` for one run. `node tools/vocabulary-facts/widen.ts`
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { encodeAlone, VOCABULARIES } from './vocabularies.ts'

const PATH = new URL('../../src/core/text-tokens/vocabulary-facts.json', import.meta.url)
const PLACES = ' abcdefghijklmnopqrstuvwxyz'

const facts: { splits: string; words: string; characters: string } = JSON.parse(readFileSync(PATH, 'utf8'))
const splits = Buffer.from(facts.splits, 'base64')

for (const merges of Object.values(VOCABULARIES)) {
  for (const [b, second] of [...PLACES].entries()) {
    for (const [c, third] of [...PLACES].entries()) {
      if (c === 0) continue
      const isPairSplit = encodeAlone(merges, second + third).length === 2
      for (const [a, first] of [...PLACES].entries()) {
        if (isPairSplit) add(a, b, c, 1)
        if (b === 0) continue
        const pieces = encodeAlone(merges, first + second + third)
        if (pieces.length === 2) add(a, b, c, pieces[0]!.length === 2 ? 2 : 4)
      }
    }
  }
}

function add(a: number, b: number, c: number, split: number): void {
  const place = (a * 27 + b) * 27 + c
  splits[place >> 1]! |= place & 1 ? split << 4 : split
}

const isCommon = (word: string) =>
  Object.values(VOCABULARIES).every((merges) => encodeAlone(merges, ` ${word}`).length === 1)
const words = facts.words.split(' ').filter(isCommon)

writeFileSync(
  PATH,
  `${JSON.stringify({ splits: splits.toString('base64'), words: words.join(' '), characters: facts.characters }, null, 2)}\n`,
)
