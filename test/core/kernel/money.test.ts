import { expect, test } from 'vitest'
import {
  formatRate,
  formatUsd,
  formatUsdOrNull,
  greaterOf,
  lesserOf,
  parseDecimal,
  parseRate,
  parseUsd,
  picoUsdPerToken,
  plainDecimal,
} from '../../../src/core/kernel/money.ts'

test.each([
  ['0.50', 500_000_000_000n],
  ['-3', -3_000_000_000_000n],
  ['0.000000000001', 1n],
  ['1.5000000000000000', 1_500_000_000_000n],
  ['9'.repeat(400), BigInt('9'.repeat(400)) * 10n ** 12n],
])('an amount is parsed exactly: %s', (text, pico) => {
  expect(parseUsd(text)).toBe(pico)
})

test.each(['', '1.', '.5', '+1', '1e3', ' 1', '1 ', '0x1', '1,5', '--1', '1'.repeat(401)])(
  'no decimal number is taken for an amount: %j',
  (text) => {
    expect(() => parseUsd(text)).toThrow('not a decimal number')
  },
)

test('an amount has at most twelve decimals and a rate six: nothing is rounded', () => {
  expect(() => parseUsd('0.0000000000001')).toThrow('more than 12 decimals: "0.0000000000001"')
  expect(() => parseRate('0.0000001')).toThrow('more than 6 decimals')
  expect(parseRate('0.000001')).toBe(1n)
  expect(parseDecimal('12.3', 1)).toBe(123n)
})

test.each([
  [0n, '0.00'],
  [1n, '0.000000000001'],
  [-500_000_000_000n, '-0.50'],
  [1_000_000_000_000n, '1.00'],
  [12_340_000_000_000n, '12.34'],
])('%s pico-USD are printed as %s', (pico, text) => {
  expect([formatUsd(pico), formatUsdOrNull(pico)]).toEqual([text, text])
})

test('no amount is printed as none, and a rate in USD per million tokens', () => {
  expect(formatUsdOrNull(null)).toBeNull()
  expect(formatRate(picoUsdPerToken(2_500_001n))).toBe('2.500001')
})

test('the lesser and the greater of two amounts', () => {
  expect([lesserOf(1n, 2n), lesserOf(2n, 1n), greaterOf(1n, 2n), greaterOf(2n, 1n)]).toEqual([1n, 1n, 2n, 2n])
})

test.each<[unknown, string | null]>([
  [1e-7, '0.0000001'],
  ['1.5e+3', '1500'],
  ['12.34567891', '12.3456789'],
  ['0.05e+1', '00.5'],
  [12, '12'],
  ['25e-1', '2.5'],
  ['5e-1', '0.5'],
  [-1, null],
  [Number.NaN, null],
  [Number.POSITIVE_INFINITY, null],
  [null, null],
  ['1.5x', null],
  ['x1.5', null],
  ['1e+400', null],
  ['1e+399', `1${'0'.repeat(399)}`],
])('a number of a provider is written out without an exponent, cut to seven decimals: %s', (value, text) => {
  expect(plainDecimal(value, 7)).toBe(text)
})
