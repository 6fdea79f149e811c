import { describe, expect, test } from 'vitest'
import { parseRetryAfter } from '../../../src/core/failover/attempt-failure.ts'

const NOW = Date.parse('2026-01-05T09:00:00Z')

describe('parseRetryAfter', () => {
  test.each([
    ['2', 2_000],
    ['0', 0],
    [' 1.5 ', 1_500],
    ['Mon, 05 Jan 2026 09:00:30 GMT', 30_000],
    ['Mon, 05 Jan 2026 08:59:00 GMT', 0],
    ['999999999', 86_400_000],
  ])('%j is %d ms', (value, ms) => {
    expect(parseRetryAfter(value, NOW)).toBe(ms)
  })

  test.each([undefined, '', '-1', 'soon', '1e3', '2026-01-05', 'Mon, nonsense'])(
    '%j says nothing',
    (value) => {
      expect(parseRetryAfter(value, NOW)).toBeNull()
    },
  )
})
