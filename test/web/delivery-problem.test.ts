import { describe, expect, test } from 'vitest'
import { deliveryOutcome } from '../../web/lib/delivery-problem.ts'

describe('what became of a delivery', () => {
  test.each([
    [200, null, 'responded with 200'],
    [500, 'whatever', 'responded with 500'],
    [null, 'ENOTFOUND', 'there is no server of that name'],
    [null, 'the address is private', 'the address is private'],
    [null, null, 'no response'],
  ])('is said in words: %s and %s are "%s"', (status_code, error, words) => {
    expect(deliveryOutcome({ status_code, error })).toBe(words)
  })
})
