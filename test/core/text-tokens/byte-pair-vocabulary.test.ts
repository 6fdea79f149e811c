import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants'
import { expect, test } from 'vitest'
import { textPieces } from '../../../src/core/kernel/text-pieces.ts'
import { BytePairVocabulary } from '../../../src/core/text-tokens/byte-pair-vocabulary.ts'

const FILE = fileURLToPath(import.meta.resolve('gpt-tokenizer/data/o200k_base.tiktoken'))
const DOCS = new URL('../../../docs/', import.meta.url)
const NO_SPECIALS = { disallowedSpecial: new Set<string>() }

const vocabulary = new BytePairVocabulary(readFileSync(FILE), O200K_TOKEN_SPLIT_REGEX)

/** What the library counts in the same pieces. */
const reference = (text: string): number =>
  textPieces(text).reduce((tokens, piece) => tokens + countTokens(piece, NO_SPECIALS), 0)

test('counts any text as the library does', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc.string({ unit: 'binary', maxLength: 300 }),
    // Lone surrogates.
    fc.array(fc.nat(0xffff), { maxLength: 100 }).map((units) => String.fromCharCode(...units)),
    fc.string({ unit: fc.constantFrom(..."aeiouXYZ \n\t\r's12/._"), maxLength: 300 }),
  )
  fc.assert(
    fc.property(text, (some) => {
      expect(vocabulary.count(some)).toBe(reference(some))
    }),
    { numRuns: 2_000 },
  )
})

test('counts prose, code, long runs and special tokens as the library does', () => {
  const pages = readdirSync(DOCS).filter((name) => name.endsWith('.md'))
  const texts = pages.map((name) => readFileSync(new URL(name, DOCS), 'utf8'))
  texts.push(
    '',
    '<|endoftext|>',
    'a'.repeat(5_000),
    ' '.repeat(5_000),
    '中文'.repeat(500),
    '👩‍🚀'.repeat(500),
  )
  expect(texts.map((text) => vocabulary.count(text))).toEqual(texts.map(reference))
})
