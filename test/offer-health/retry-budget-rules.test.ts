import { describe, expect, test } from 'vitest'
import { RollingCount, retriesAllowed } from '../../src/offer-health/retry-budget.ts'

test('retries are a share of the calls, and never less than the floor', () => {
  expect(retriesAllowed(1_000, { percent: 20, floor: 10 })).toBe(200)
  expect(retriesAllowed(5, { percent: 20, floor: 10 })).toBe(10)
  expect(retriesAllowed(4, { percent: 20, floor: 0 })).toBe(0)
})

describe('RollingCount', () => {
  test('forgets what is older than its window', () => {
    const count = new RollingCount(10_000)
    count.add(0, 3)
    count.add(5_000)
    expect(count.total(9_999)).toBe(4)
    expect(count.total(10_000)).toBe(1)
    expect(count.total(30_000)).toBe(0)
  })
})
