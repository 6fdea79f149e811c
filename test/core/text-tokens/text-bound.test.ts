import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTextBound, textTokensBound } from '../../../src/core/text-tokens/text-bound.ts'
import facts from '../../../src/core/text-tokens/vocabulary-facts.json' with { type: 'json' }
import { TOKENIZERS } from '../../helpers/tokenizers.ts'
import { ADVERSARIAL_TEXTS } from './adversarial-texts.ts'
import { ORDINARY_TEXTS } from './ordinary-texts.ts'

const words = facts.words.split(' ')
const between = (first: number, last: number) =>
  fc.integer({ min: first, max: last }).map((code) => String.fromCodePoint(code))
const of = (characters: string) => fc.constantFrom(...characters)
const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const DIGITS = '0123456789'
const PUNCTUATION = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'
const BASE64 = `${LOWER}${LOWER.toUpperCase()}${DIGITS}+/=`

/** What strings are made of; each is also repeated, and mixed with the others. */
const UNITS: Record<string, fc.Arbitrary<string>> = {
  'lower-case letters': of(LOWER),
  'upper-case letters': of(LOWER.toUpperCase()),
  'letters of both cases': of(LOWER + LOWER.toUpperCase()),
  base64: of(BASE64),
  hex: of('0123456789abcdef'),
  digits: of(DIGITS),
  punctuation: of(PUNCTUATION),
  'ASCII, control characters included': between(0, 127),
  'spaces, tabs and line breaks': fc.constantFrom(' ', '  ', '\t', '\n', '\r\n', '\u00a0', '\u3000', '\v'),
  'words and their spaces': fc
    .tuple(fc.constantFrom('', ' ', '  ', "'", ' ('), fc.constantFrom(...words))
    .map((parts) => parts.join('')),
  'common characters of other scripts': of(facts.characters),
  'Latin with accents': between(0x80, 0x24f),
  'combining marks': fc
    .tuple(of('aeiouhdkt'), fc.array(between(0x300, 0x36f), { maxLength: 6 }))
    .map(([letter, marks]) => letter + marks.join('')),
  'Greek and Cyrillic': between(0x370, 0x52f),
  'Hebrew and Arabic': between(0x590, 0x6ff),
  'scripts of India': between(0x900, 0xd7f),
  'Thai, Lao and Tibetan': between(0xe00, 0xfff),
  Hangul: between(0xac00, 0xd7a3),
  'Kana and common ideographs': between(0x3040, 0x9fff),
  Yi: between(0xa000, 0xa4c6),
  'compatibility forms': between(0xf900, 0xfffd),
  'private use': between(0xe000, 0xf8ff),
  'ideographs of extension B': between(0x20000, 0x2a6df),
  Cuneiform: between(0x12000, 0x12399),
  'musical symbols': between(0x1d100, 0x1d1ff),
  'squared letters and flags': between(0x1f100, 0x1f2ff),
  emoji: fc.constantFrom('👩‍👩‍👧‍👦', '👍🏽', '🏳️‍🌈', '🇩🇪', '❤️', '🧿', '🪿'),
  'lone surrogates': fc.integer({ min: 0xd800, max: 0xdfff }).map((unit) => String.fromCharCode(unit)),
  uuids: fc.uuid(),
  'JSON with escapes': fc.json(),
}

const manyOf = (unit: fc.Arbitrary<string>) =>
  fc.oneof(
    fc.array(unit, { minLength: 1, maxLength: 60 }).map((units) => units.join('')),
    fc
      .tuple(fc.array(unit, { minLength: 1, maxLength: 5 }), fc.integer({ min: 2, max: 40 }))
      .map(([units, times]) => units.join('').repeat(times)),
  )

function expectBound(text: string): void {
  const bound = textTokensBound(text)
  for (const [name, count] of Object.entries(TOKENIZERS)) {
    const tokens = count(text)
    if (tokens > bound) expect.fail(`${name}: ${tokens} tokens, bound ${bound}: ${JSON.stringify(text)}`)
  }
}

describe('no tokenizer makes more tokens than the bound', () => {
  test.each(Object.entries(UNITS))('of %s', (_, unit) => {
    fc.assert(fc.property(manyOf(unit), expectBound), { numRuns: 60 })
  })

  test('of texts that mix every kind of unit', () => {
    fc.assert(fc.property(manyOf(fc.oneof(...Object.values(UNITS))), expectBound), { numRuns: 300 })
  })

  test('of every word of the facts, and what may stand after it', () => {
    // A third of the words before each ending, so that every word stands before a few.
    for (const [turn, after] of ['', '.', '\n', '1', '_', "'", "'re", 'X', 'é', 'ß', '的'].entries()) {
      for (let index = (turn % 3) * 25; index < words.length; index += 75) {
        const some = words.slice(index, index + 25)
        expectBound(some.map((word) => ` ${word}${after}`).join(''))
      }
    }
  })

  test('of every character of the basic plane, alone and repeated', { timeout: 240_000 }, () => {
    // Above 0x3400 it is blocks of thousands of one kind, of which one in four sixteens will do.
    for (let code = 0; code < 0x10000; code += code < 0x3400 ? 16 : 64) {
      const characters = Array.from({ length: 16 }, (_, index) => String.fromCharCode(code + index))
      expectBound(characters.join(' '))
      expectBound(characters.map((character) => character.repeat(3)).join(''))
    }
  })

  test.each(ADVERSARIAL_TEXTS)('of what a search found: %j', (text) => {
    expectBound(text)
    expectBound(text.repeat(200))
  })

  test('of a long random text', () => {
    const texts = [LOWER, BASE64, `${LOWER} `, `${LOWER}${DIGITS}${PUNCTUATION} \n`]
    for (const alphabet of texts) {
      const [text] = fc.sample(fc.array(of(alphabet), { minLength: 10_000, maxLength: 10_000 }), {
        numRuns: 1,
        seed: 7,
      })
      expectBound(text!.join(''))
    }
  })

  test.each(Object.entries(ORDINARY_TEXTS))('of %s', (_, { text }) => expectBound(text))
})

describe('the bound of ordinary text', () => {
  test.each(Object.entries(ORDINARY_TEXTS))('stays near its count by o200k: %s', (_, { text, most }) => {
    expect(textTokensBound(text) / TOKENIZERS.o200k!(text)).toBeLessThanOrEqual(most)
  })

  /** What the vocabularies that a maker keeps to itself take above its public one, as measured: up to 1.47. */
  const MARGIN = 1.5
  test.each(Object.entries(ORDINARY_TEXTS))(
    'leaves a margin for vocabularies that are not public: %s',
    (_, { text }) => {
      expect(textTokensBound(text)).toBeGreaterThanOrEqual(MARGIN * TOKENIZERS.claude!(text))
    },
  )

  test('is what this repository is written in, too', () => {
    const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
    const prose = read('docs/decisions/0005-hold-is-a-bound.md')
    const code = read('src/core/routing/call-plan.ts')
    expect(textTokensBound(prose) / TOKENIZERS.o200k!(prose)).toBeLessThan(2)
    expect(textTokensBound(code) / TOKENIZERS.o200k!(code)).toBeLessThan(2.5)
  })
})

test('the bound of a word does not depend on the words before it', () => {
  const all = fc.sample(fc.stringMatching(/^ ?[a-z]{1,14}[ .']?$/), { numRuns: 20_000, seed: 7 })
  const first = all.map(textTokensBound)
  expect(all.toReversed().map(textTokensBound).toReversed()).toEqual(first)
})

test('a long text that was bounded before has the same bound, in each form, and others keep theirs', () => {
  const text = 'It said: "no"\n'.repeat(300)
  const other = text.replace('no', 'NO')
  for (let time = 0; time < 3; time++) {
    const boundOf = createTextBound()
    expect(boundOf(text)).toBe(textTokensBound(text))
    expect(boundOf(text, 'json')).toBe(textTokensBound(JSON.stringify(text)))
    expect(boundOf(other)).toBe(textTokensBound(other))
  }
  const bytes = Buffer.from(text)
  let written = 0
  for (let time = 0; time < 3; time++) {
    const write = () => {
      written++
      return text
    }
    expect(createTextBound().received(bytes, write)).toBe(textTokensBound(text))
  }
  expect(written, 'a text of received bytes is written').toBe(1)
  // What a call may no longer have scanned is bounded by its length, whether or not it is remembered.
  const spent = createTextBound()
  spent('a'.repeat(2_000_000))
  expect(spent(text)).toBeGreaterThan(text.length)
  expect(spent.received(bytes, () => text)).toBeGreaterThan(text.length)
})
