import { describe, expect, test } from 'vitest'
import { deliveryOutcome } from '../../web/lib/delivery-problem.ts'

describe('the outcome of a delivery', () => {
  test.each([
    [200, null, 'HTTP 200'],
    [500, 'whatever', 'HTTP 500'],
    [null, 'ENOTFOUND', 'host not found'],
    [null, 'the address is private', 'the address is private'],
    [null, null, 'no response'],
  ])('is said in words: %s and %s are "%s"', (status_code, error, words) => {
    expect(deliveryOutcome({ status_code, error })).toBe(words)
  })
})
