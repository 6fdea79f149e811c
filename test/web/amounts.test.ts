import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { isWholeCents } from '../../web/lib/checks.ts'
import { axisAmount, columnAmount, formatAmount, formatChange, shortAmount } from '../../web/lib/format.ts'

describe('amounts on screen', () => {
  test('loses no digit of any amount that the gateway can send', () => {
    fc.assert(
      fc.property(fc.bigInt(-(10n ** 24n), 10n ** 24n), (pico) => {
        const usd = formatUsd(picoUsd(pico))
        const shown = formatAmount(usd).replace('−', '-').replace('$', '').replaceAll(',', '')
        expect(shown).toBe(usd)
      }),
    )
  })

  test.each([
    ['0.50', '$0.50'],
    ['0.0000123', '$0.0000123'],
    ['1234567.5', '$1,234,567.50'],
    ['-0.000000000001', '−$0.000000000001'],
    ['25', '$25.00'],
  ])('shows %s as %s', (usd, shown) => {
    expect(formatAmount(usd)).toBe(shown)
  })

  test.each([
    ['25.4417556555', '25.441756', '', '25.44'],
    ['0.00000389', '0.000004', '', '0.00000389'],
    ['0.05826882', '0.058269', '', '0.05827'],
    ['0.0000004', '<0.000001', '', '0.0000004'],
    ['0.0000123456', '0.000012', '', '0.00001235'],
    ['25.00', '25.00', '0000', '25.00'],
    ['0.1234', '0.1234', '00', '0.1234'],
    ['0.9999999', '1.00', '0000', '1.00'],
    ['1234.567', '1,234.567', '000', '1,234.57'],
  ])('rounds %s to %s%s in a column and to %s in large type', (usd, column, filler, short) => {
    const dollars = (text: string) => text.replace(/(?=\d)/, '$')
    expect(columnAmount(usd)).toEqual({ text: dollars(column), filler })
    expect(shortAmount(usd)).toBe(dollars(short))
    const negative = `−${dollars(column)}`
    expect(columnAmount(`-${usd}`).text).toBe(negative)
  })

  test.each([
    ['25', '$25.00', ''],
    ['3.5', '$3.50', ''],
    ['1.005', '$1.01', ''],
  ])('gives a payment of %s two decimals', (usd, text, filler) => {
    expect(columnAmount(usd, 'cents')).toEqual({ text, filler })
  })

  test('gives a change of the balance its sign', () => {
    expect(formatChange('5.00')).toBe('+$5.00')
    expect(formatChange('-0.12')).toBe('−$0.12')
  })

  test('refuses what is no amount rather than show something else', () => {
    expect(() => formatAmount('1e-7')).toThrow(RangeError)
    expect(() => formatAmount('')).toThrow(RangeError)
  })

  test.each([
    [0, 0.2, '$0.00'],
    [0.8, 0.2, '$0.80'],
    [1, 0.5, '$1.00'],
    [0.0012, 0.0002, '$0.0012'],
    [0.001, 0.0002, '$0.0010'],
    [12, 4, '$12'],
    [0, 500, '$0'],
    [1500, 500, '$1,500'],
  ])('labels %d on an axis with steps of %d as %s', (value, step, label) => {
    expect(axisAmount(value, step)).toBe(label)
  })

  test.each([
    ['5', true],
    ['5.00', true],
    ['0', false],
    ['5.001', false],
    ['-5', false],
    ['1e3', false],
    ['', false],
  ])('takes %s as an amount to pay: %s', (text, valid) => {
    expect(isWholeCents(text)).toBe(valid)
  })
})
