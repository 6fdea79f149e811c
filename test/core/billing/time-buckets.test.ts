import { describe, expect, test } from 'vitest'
import { bucketStarts, clocksHeld, isTimeZone, startOfDay } from '../../../src/core/billing/time-buckets.ts'
import { startBefore } from '../../../src/core/billing/zoned-time-range.ts'

const HOUR_MS = 3_600_000
const at = (iso: string) => Date.parse(iso)
const iso = (starts: number[] | null) => starts?.map((start) => new Date(start).toISOString().slice(0, 16))
const span = (from: string, to: string) => ({ fromMs: at(from), toMs: at(to) })

describe('the starts of a span', () => {
  test('of days in UTC begin at or before its first moment and end before its last', () => {
    expect(iso(bucketStarts(span('2027-01-30T11:00:00Z', '2027-02-02T00:00:00Z'), 'day', 'UTC', 10))).toEqual(
      ['2027-01-30T00:00', '2027-01-31T00:00', '2027-02-01T00:00'],
    )
  })

  test.each([
    // Clocks go forward and back at night.
    ['Europe/Berlin', '2027-03-27T23:00:00Z', ['2027-03-27T23:00', '2027-03-28T22:00', '2027-03-29T22:00']],
    ['Europe/Berlin', '2027-10-30T22:00:00Z', ['2027-10-30T22:00', '2027-10-31T23:00', '2027-11-01T23:00']],
    ['Asia/Kolkata', '2027-01-01T00:00:00Z', ['2026-12-31T18:30', '2027-01-01T18:30', '2027-01-02T18:30']],
    // East of the date line, going forward and back.
    [
      'Pacific/Auckland',
      '2026-09-26T12:00:00Z',
      ['2026-09-26T12:00', '2026-09-27T11:00', '2026-09-28T11:00'],
    ],
    [
      'Pacific/Auckland',
      '2027-04-03T11:00:00Z',
      ['2027-04-03T11:00', '2027-04-04T12:00', '2027-04-05T12:00'],
    ],
    // Here midnight did not exist: the day began at one.
    [
      'America/Sao_Paulo',
      '2018-11-03T03:00:00Z',
      ['2018-11-03T03:00', '2018-11-04T03:00', '2018-11-05T02:00'],
    ],
  ])('of days in %s follow its clocks: %s', (zone, from, expected) => {
    expect(iso(bucketStarts({ fromMs: at(from), toMs: at(from) + 50 * HOUR_MS }, 'day', zone, 10))).toEqual(
      expected,
    )
  })

  test('of months and hours', () => {
    expect(
      iso(bucketStarts(span('2027-02-10T00:00:00Z', '2027-04-01T00:00:00Z'), 'month', 'Europe/Berlin', 10)),
    ).toEqual(['2027-01-31T23:00', '2027-02-28T23:00', '2027-03-31T22:00'])
    expect(
      iso(bucketStarts(span('2027-01-01T00:10:00Z', '2027-01-01T02:00:00Z'), 'hour', 'Asia/Kolkata', 10)),
    ).toEqual(['2026-12-31T23:30', '2027-01-01T00:30', '2027-01-01T01:30'])
  })

  test('are bounded', () => {
    const day = span('2027-01-01T00:00:00Z', '2027-01-02T00:00:00Z')
    expect(bucketStarts(day, 'hour', 'UTC', 24)).toHaveLength(24)
    expect(bucketStarts(day, 'hour', 'UTC', 23)).toBeNull()
  })
})

test('a day begins at the midnight of its zone', () => {
  expect(startOfDay(Date.UTC(2027, 6, 1), 'America/Los_Angeles')).toBe(at('2027-07-01T07:00:00Z'))
})

test.each([
  ['UTC', true],
  ['America/Argentina/Buenos_Aires', true],
  ['Mars/Olympus', false],
  ["'; --", false],
  ['+02:00', false],
  ['', false],
])('%j is a time zone: %s', (name, is) => {
  expect(isTimeZone(name)).toBe(is)
})

test('the spellings of one time zone share one clock in memory', () => {
  const name = 'america/argentina/buenos_aires'
  const spelled = (bits: number) =>
    [...name].map((letter, index) => (bits & (1 << index) ? letter.toUpperCase() : letter)).join('')
  const start = startOfDay(at('2026-11-20T00:00:00Z'), 'America/Argentina/Buenos_Aires')
  const before = clocksHeld()
  for (let bits = 0; bits < 100; bits++) {
    expect(startOfDay(at('2026-11-20T00:00:00Z'), spelled(bits))).toBe(start)
  }
  expect(clocksHeld()).toBe(before)
})

test.each([
  ['Europe/Berlin', '2027-03-28T22:00Z', '2027-04-04T22:00Z', '2027-03-21T23:00Z'],
  ['Europe/Berlin', '2027-10-31T23:00Z', '2027-11-07T23:00Z', '2027-10-24T22:00Z'],
  ['UTC', '2027-03-28T22:00Z', '2027-03-29T22:00Z', '2027-03-27T22:00Z'],
])('in %s the period before %s to %s starts at %s', (zone, from, to, before) => {
  const range = { fromMs: Date.parse(from), toMs: Date.parse(to) }
  expect(startBefore(range, zone)).toBe(Date.parse(before))
})
