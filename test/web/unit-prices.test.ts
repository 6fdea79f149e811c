import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { UNIT_KINDS } from '../../src/core/catalog/catalog.ts'
import { formatRate, formatUsd, picoUsdPerToken } from '../../src/core/kernel/money.ts'
import {
  imagePrices,
  unitCount,
  unitPrice,
  unitPriceText,
  unitPriceTitle,
  unitTitle,
} from '../../web/lib/models/unit-prices.ts'

describe('prices of units on screen', () => {
  test.each([
    ['second', '95', '$0.0057 / minute'],
    ['second', '8.888', '$0.00053328 / minute'],
    ['character', '14.25', '$14.25 / million characters'],
    ['image', '1090.51904', '$0.00109051904 / image'],
    ['image_token', '28.5', '$28.50 / million tokens'],
    ['second', '-3', '−$0.00018 / minute'],
    ['search', '1900.00', '$1.90 / 1,000 searches'],
  ])('of a %s at %s per million is %s', (unit, rate, shown) => {
    expect(unitPriceText(unit, rate)).toBe(shown)
  })

  test('loses no digit of any rate', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 12n), (pico) => {
        expect(unitPrice('second', formatRate(picoUsdPerToken(pico)))).toBe(formatUsd(pico * 60n))
      }),
    )
  })

  test('has words for every unit of the catalog', () => {
    for (const unit of UNIT_KINDS) expect(unitPriceTitle(unit)).not.toContain('Units')
    expect(unitPriceTitle('second')).toBe('Audio, per minute')
    expect(unitTitle('image_token')).toBe('Image tokens')
    expect([unitCount('image', 1), unitCount('character', 2_400)]).toEqual(['1 image', '2,400 characters'])
  })

  test('lists the images that a model makes by size, each quality with its price', () => {
    const units = { 'medium/1024x1024': 1_756, 'medium/1024x1536': 1_372, 'low/1024x1536': 158 }
    expect(imagePrices(units, '28.50')).toEqual({
      qualities: ['low', 'medium'],
      usual: { quality: 'medium', size: '1024 × 1024' },
      sizes: [
        { size: '1024 × 1024', usd: { medium: '0.050046' } },
        { size: '1024 × 1536', usd: { medium: '0.039102', low: '0.004503' } },
      ],
    })
    expect(imagePrices({ '/512x512': 1 }, '19000')).toEqual({
      qualities: [''],
      usual: { quality: '', size: '512 × 512' },
      sizes: [{ size: '512 × 512', usd: { '': '0.019' } }],
    })
  })

  test('refuses what is no rate rather than show something else', () => {
    expect(() => unitPrice('second', '1e-7')).toThrow(RangeError)
  })
})
