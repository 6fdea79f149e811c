import { describe, expect, test } from 'vitest'
import { ApiError } from '../../src/core/kernel/errors.ts'
import { createBodyBudget } from '../../src/http/body-budget.ts'

const KB = 1024
const LIMITS = {
  bodyBytesPerKey: 1_000 * KB,
  bodyBytesPerAccount: 1_500 * KB,
  bodyBytesPerInstance: 4_000 * KB,
}

const sender = (accountId: string, keyId: string | null = `key of ${accountId}`) => ({ accountId, keyId })

function codeOf(run: () => unknown): string {
  try {
    run()
    return 'ok'
  } catch (error) {
    if (error instanceof ApiError) return `${error.status} ${error.code} ${error.details.retryAfterSeconds}`
    throw error
  }
}

/** A budget, and how a body of so many kB fares in it; what has arrived stays. */
function startBudget(limits = LIMITS) {
  const budget = createBodyBudget(limits)
  const arrive = (kilobytes: number, accountId: string, keyId?: string | null) => {
    const reservation = budget.open(sender(accountId, keyId), 0)
    // As they come off a socket.
    for (let left = kilobytes; left > 0; left -= 64) reservation.grow(Math.min(64, left) * KB)
    return reservation
  }
  return { budget, arrive }
}

/** Of an instance that several accounts could fill. */
const WIDE_LIMITS = {
  bodyBytesPerKey: 50_000 * KB,
  bodyBytesPerAccount: 50_000 * KB,
  bodyBytesPerInstance: 40_000 * KB,
}

describe('the budget of request bodies in flight', () => {
  test('takes nothing for what is announced, however often', () => {
    const { budget } = startBudget()
    for (let index = 0; index < 1_000; index++) budget.open(sender('a'), 1_000 * KB)
    expect(codeOf(() => budget.open(sender('b'), 1_000 * KB).grow(1_000 * KB))).toBe('ok')
  })

  test('refuses what is too much for a key and for its account', () => {
    const { budget, arrive } = startBudget()
    arrive(1_000, 'a')
    expect(codeOf(() => arrive(1, 'a'))).toBe('429 concurrency_limit_exceeded 1')
    arrive(500, 'a', 'another key')
    expect(codeOf(() => arrive(1, 'a', 'a third key'))).toBe('429 concurrency_limit_exceeded 1')
    expect(codeOf(() => budget.open(sender('a', null), KB))).toBe('429 concurrency_limit_exceeded 1')
  })

  test('gives large bodies of an account as much as it leaves for the others', () => {
    const { arrive } = startBudget(WIDE_LIMITS)
    for (const account of ['a', 'b', 'c']) {
      expect(codeOf(() => arrive(40_000, account))).toBe('503 overloaded 1')
    }
    expect(codeOf(() => arrive(2_000, 'd'))).toBe('ok')
  })

  test('has room for an account that has little in flight, whatever the others have', () => {
    const { arrive } = startBudget(WIDE_LIMITS)
    const accounts = Array.from({ length: 12 }, (_, index) => `account ${index}`)
    for (const account of accounts) codeOf(() => arrive(40_000, account))
    expect(codeOf(() => arrive(256, 'quiet'))).toBe('ok')
  })

  test('gets everything back when the last holder lets go, once', () => {
    const { arrive } = startBudget()
    const reservation = arrive(1_000, 'a')
    reservation.hold()
    reservation.release()
    expect(codeOf(() => arrive(1, 'a'))).toMatch(/^429/)
    reservation.release()
    const whole = arrive(1_000, 'a')
    expect(codeOf(() => arrive(1, 'a'))).toMatch(/^429/)
    whole.release()
    expect(codeOf(() => arrive(1_000, 'a'))).toBe('ok')
  })

  test('takes nothing for the part that it refuses', () => {
    const { budget, arrive } = startBudget()
    for (let index = 0; index < 10; index++) {
      expect(codeOf(() => budget.open(sender('a'), 1_001 * KB))).toMatch(/^429/)
      expect(codeOf(() => budget.open(sender('a'), 0).grow(1_001 * KB))).toMatch(/^429/)
    }
    expect(codeOf(() => arrive(1_000, 'a'))).toBe('ok')
  })
})
