import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sampleTexts, textPieces } from '../../../src/core/kernel/text-pieces.ts'

describe('pieces of a text', () => {
  test('are all of it, in order, none longer than 2,000 characters', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom('word ', 'x'.repeat(127), 'x'.repeat(128), ' ', '\n', '漢', '😀', '😀'.repeat(90)),
          {
            maxLength: 200,
          },
        ),
        (parts) => {
          const pieces = textPieces(parts.join(''))
          expect(pieces.join('')).toBe(parts.join(''))
          for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(2_000)
        },
      ),
    )
  })

  test('hold no longer run than 128 characters', () => {
    for (const text of ['a'.repeat(9_999), '漢'.repeat(9_999), ' '.repeat(9_999), '😀'.repeat(9_999)]) {
      for (const piece of textPieces(text)) expect(piece.length).toBeLessThanOrEqual(128)
    }
  })

  test('end before a word where there is one', () => {
    for (const piece of textPieces('word '.repeat(5_000)).slice(1))
      expect(piece.startsWith(' word')).toBe(true)
  })
})

describe('a sample of texts', () => {
  test('is the texts where they are short', () => {
    expect(sampleTexts(['a', '', 'bc'], 3)).toEqual({ texts: ['a', '', 'bc'], chars: 3, scale: 1 })
    expect(sampleTexts([''], 3)).toEqual({ texts: [''], chars: 0, scale: 1 })
  })

  test('a sample of texts is taken from all of them and has about the maximum length', () => {
    const texts = [
      'a'.repeat(500_000),
      ...Array.from({ length: 300 }, () => 'b'.repeat(1_000)),
      'c'.repeat(200_000),
    ]
    const { texts: sampled, chars, scale } = sampleTexts(texts, 100_000)
    expect(chars * scale).toBeCloseTo(1_000_000)
    expect(chars).toBeGreaterThan(60_000)
    expect(chars).toBeLessThan(110_000)
    expect(new Set(sampled.join(''))).toEqual(new Set('abc'))
  })
})
