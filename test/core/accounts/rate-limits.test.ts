import { describe, expect, test } from 'vitest'
import { effectiveLimits, type LimitSettings } from '../../../src/core/accounts/rate-limits.ts'

const DEFAULTS = {
  requestsPerMinute: 600,
  concurrentCalls: 100,
  accountRequestsPerMinute: 1_200,
  accountConcurrentCalls: 200,
}
const limits = (settings: Partial<LimitSettings>) =>
  effectiveLimits(
    {
      requestsPerMinute: null,
      concurrentCalls: null,
      customerRequestsPerMinute: null,
      customerConcurrentCalls: null,
      accountLimits: { requestsPerMinute: null, concurrentCalls: null },
      ...settings,
    },
    DEFAULTS,
  )

describe('the limits a call is admitted by', () => {
  test('are the defaults where nothing is set', () => {
    expect(limits({})).toEqual(DEFAULTS)
  })

  test('are lowered by the customer, never raised', () => {
    expect(limits({ customerRequestsPerMinute: 5, customerConcurrentCalls: 2 })).toMatchObject({
      requestsPerMinute: 5,
      concurrentCalls: 2,
    })
    expect(limits({ customerRequestsPerMinute: 1_000_000, customerConcurrentCalls: 100_000 })).toEqual(
      DEFAULTS,
    )
  })

  test('are raised by the operator for one key, and lowered from there by the customer', () => {
    expect(limits({ concurrentCalls: 150, customerConcurrentCalls: 120 })).toMatchObject({
      concurrentCalls: 120,
      accountConcurrentCalls: 200,
    })
  })

  test('let an account do what the operator granted one of its keys, unless the operator limits the account', () => {
    expect(limits({ requestsPerMinute: 5_000 })).toMatchObject({
      requestsPerMinute: 5_000,
      accountRequestsPerMinute: 5_000,
    })
    const accountLimits = { requestsPerMinute: 50, concurrentCalls: 300 }
    expect(limits({ requestsPerMinute: 5_000, accountLimits })).toMatchObject({
      accountRequestsPerMinute: 50,
      accountConcurrentCalls: 300,
    })
  })
})
