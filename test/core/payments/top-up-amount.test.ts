import { describe, expect, test } from 'vitest'
import { parseUsd } from '../../../src/core/kernel/money.ts'
import {
  fromCents,
  readTopUpAmount,
  TOP_UP_PRESETS_USD,
  toCents,
} from '../../../src/core/payments/top-up-amount.ts'

const LIMITS = { minPico: parseUsd('5'), maxPico: parseUsd('10000') }

describe('readTopUpAmount', () => {
  test.each([...TOP_UP_PRESETS_USD, '5', 5, 25.5, '25.50', '25.5000', 10_000, '19.99', 19.99])(
    '%s is an amount',
    (value) => {
      expect(readTopUpAmount(value, LIMITS)).toEqual({ kind: 'amount', amountPico: parseUsd(String(value)) })
    },
  )

  test.each([
    [undefined, 'not_an_amount'],
    ['', 'not_an_amount'],
    ['-25', 'not_an_amount'],
    ['1e3', 'not_an_amount'],
    ['25 USD', 'not_an_amount'],
    [Number.NaN, 'not_an_amount'],
    [{}, 'not_an_amount'],
    ['4.99', 'below_minimum'],
    [0, 'below_minimum'],
    ['10000.01', 'above_maximum'],
    ['25.001', 'fraction_of_a_cent'],
    ['25.0000000000001', 'fraction_of_a_cent'],
  ])('%s: %s', (value, reason) => {
    const read = readTopUpAmount(value, LIMITS)
    expect(read.kind === 'refused' ? read.reason : read.kind).toBe(reason)
  })

  test('cents and back is the same amount', () => {
    expect(fromCents(toCents(parseUsd('19.99')))).toBe(parseUsd('19.99'))
    expect(() => fromCents(19.99)).toThrow(RangeError)
    expect(() => toCents(parseUsd('0.001'))).toThrow(RangeError)
  })
})
