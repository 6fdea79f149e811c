import { describe, expect, test } from 'vitest'
import {
  daysBetween,
  formatAgo,
  formatDuration,
  formatTokens,
  lastDays,
  plural,
} from '../../web/lib/format.ts'

describe('figures and dates on screen', () => {
  test.each([
    [512, '512'],
    [8_192, '8.19K'],
    [128_000, '128K'],
    [1_000_000, '1M'],
    [1_048_576, '1.05M'],
  ])('shortens %d tokens to %s', (tokens, shown) => {
    expect(formatTokens(tokens)).toBe(shown)
  })

  test.each([
    [87.4, '87 ms'],
    [1_240, '1.24 s'],
    [3_600, '3.60 s'],
    [125_000, '2 min 5 s'],
  ])('shows %d ms as %s', (milliseconds, shown) => {
    expect(formatDuration(milliseconds)).toBe(shown)
  })

  test('counts one and many', () => {
    expect(plural(1, 'call')).toBe('1 call')
    expect(plural(2_000, 'call')).toBe('2,000 calls')
  })

  test('fills the days that the gateway leaves out, both ends included', () => {
    expect(daysBetween('2027-02-27', '2027-03-01')).toEqual(['2027-02-27', '2027-02-28', '2027-03-01'])
  })

  test('asks for so many days up to and with today', () => {
    const span = lastDays(30, new Date('2027-01-31T22:00:00Z'))
    expect(span).toEqual({ from: '2027-01-02', to: '2027-02-01' })
    expect(daysBetween(span.from, '2027-01-31')).toHaveLength(30)
  })

  test('says how long ago something was', () => {
    const now = new Date('2027-01-31T12:00:00Z')
    expect(formatAgo('2027-01-31T11:57:00Z', now)).toBe('3 minutes ago')
    expect(formatAgo('2027-01-31T11:59:50Z', now)).toBe('just now')
  })
})
