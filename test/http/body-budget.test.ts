import { describe, expect, test } from 'vitest'
import { ApiError } from '../../src/core/kernel/errors.ts'
import { createBodyBudget } from '../../src/http/plugins/read-requests.ts'

const LIMITS = { bodyBytesPerKey: 100, bodyBytesPerAccount: 150, bodyBytesPerInstance: 250 }

const owner = (accountId: string, keyId: string | null = `key of ${accountId}`) => ({ accountId, keyId })

function codeOf(run: () => unknown): string {
  try {
    run()
    return 'ok'
  } catch (error) {
    if (error instanceof ApiError) return `${error.status} ${error.code} ${error.details.retryAfterSeconds}`
    throw error
  }
}

describe('the budget of request bodies in flight', () => {
  test('refuses what is too much for a key, for its account and for the instance', () => {
    const budget = createBodyBudget(LIMITS)
    budget.reserve(owner('a'), 100)
    expect(codeOf(() => budget.reserve(owner('a'), 1))).toBe('429 concurrency_limit_exceeded 1')
    budget.reserve(owner('a', 'another key'), 50)
    expect(codeOf(() => budget.reserve(owner('a', 'a third key'), 1))).toBe(
      '429 concurrency_limit_exceeded 1',
    )
    expect(codeOf(() => budget.reserve(owner('a', null), 1))).toBe('429 concurrency_limit_exceeded 1')
    budget.reserve(owner('b'), 100)
    expect(codeOf(() => budget.reserve(owner('c'), 1))).toBe('503 overloaded 1')
  })

  test('gets everything back when the last holder lets go, once, and what a body was shorter at once', () => {
    const budget = createBodyBudget(LIMITS)
    const reservation = budget.reserve(owner('a'), 100)
    reservation.hold()
    reservation.release()
    expect(codeOf(() => budget.reserve(owner('a'), 1))).toMatch(/^429/)
    reservation.shrink(60)
    budget.reserve(owner('a'), 40).release()
    reservation.release()
    const whole = budget.reserve(owner('a'), 100)
    expect(codeOf(() => budget.reserve(owner('a'), 1))).toMatch(/^429/)
    whole.release()
    expect(codeOf(() => budget.reserve(owner('a'), 100))).toBe('ok')
  })

  test('takes nothing for what it refuses', () => {
    const budget = createBodyBudget(LIMITS)
    for (let index = 0; index < 10; index++)
      expect(codeOf(() => budget.reserve(owner('a'), 101))).toMatch(/^429/)
    expect(codeOf(() => budget.reserve(owner('a'), 100))).toBe('ok')
  })
})
