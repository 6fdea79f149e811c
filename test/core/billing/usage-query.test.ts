import { describe, expect, test } from 'vitest'
import { timeRange } from '../../../src/core/billing/usage-query.ts'
import { parseMoment } from '../../../src/core/kernel/time.ts'

const NOW = Date.UTC(2030, 5, 15, 12)

describe('a span of time', () => {
  test('is the last 30 days where nothing is said', () => {
    expect(timeRange({}, NOW)).toEqual({ fromMs: Date.UTC(2030, 4, 16, 12), toMs: NOW })
  })

  test('takes dates for their midnight, UTC, and times with their zone', () => {
    expect(timeRange({ from: '2030-01-01', to: '2030-01-02T01:30:00.250+01:30' }, NOW)).toEqual({
      fromMs: Date.UTC(2030, 0, 1),
      toMs: Date.UTC(2030, 0, 2) + 250,
    })
  })

  test.each(['2030-02-29', '2030-1-1', '2030-01-01T00:00', '2030-01-01 00:00Z', '1893456000', 'now'])(
    'refuses %s',
    (from) => expect(parseMoment(from)).toBeNull(),
  )

  test('takes the 29th of February where there is one', () => {
    expect(timeRange({ from: '2028-02-29', to: '2028-03-01' }, NOW).fromMs).toBe(Date.UTC(2028, 1, 29))
  })
})
