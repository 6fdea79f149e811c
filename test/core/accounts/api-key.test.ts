import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  effectiveLimits,
  formatApiKey,
  keyHint,
  type LimitSettings,
  parseApiKey,
} from '../../../src/core/accounts/api-key.ts'

const random = fc.uint8Array({ minLength: 32, maxLength: 32 })
const kind = fc.constantFrom('standard' as const, 'admin' as const)
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

describe('API keys', () => {
  test('have the form of the contract', () => {
    expect(formatApiKey('standard', new Uint8Array(32).fill(255))).toMatch(/^sk-sy-[0-9A-Za-z]{49}$/)
    expect(formatApiKey('admin', new Uint8Array(32))).toMatch(/^sk-sy-admin-[0-9A-Za-z]{49}$/)
  })

  test('the prefix of an API key shows its kind', () => {
    fc.assert(fc.property(kind, random, (kind, bytes) => parseApiKey(formatApiKey(kind, bytes)) === kind))
  })

  test('differ where their random bytes differ', () => {
    fc.assert(
      fc.property(random, random, (one, other) => {
        const same = Buffer.from(one).equals(Buffer.from(other))
        return (formatApiKey('standard', one) === formatApiKey('standard', other)) === same
      }),
    )
  })

  test('one wrong character is noticed offline', () => {
    fc.assert(
      fc.property(kind, random, fc.nat(48), fc.constantFrom(...BASE62), (kind, bytes, place, character) => {
        const key = formatApiKey(kind, bytes)
        const at = key.length - 49 + place
        fc.pre(key[at] !== character)
        return parseApiKey(key.slice(0, at) + character + key.slice(at + 1)) === null
      }),
    )
  })

  test('anything else is no key', () => {
    const key = formatApiKey('standard', new Uint8Array(32).fill(7))
    for (const text of [
      '',
      'sk-sy-',
      `${key} `,
      ` ${key}`,
      key.slice(1),
      key.slice(0, -1),
      `${key}a`,
      `${key}\n`,
    ]) {
      expect(parseApiKey(text)).toBeNull()
    }
    fc.assert(fc.property(fc.string(), (text) => parseApiKey(text) === null))
  })

  test('show their first 10 and last 4 characters', () => {
    const key = formatApiKey('standard', new Uint8Array(32).fill(7))
    expect(keyHint(key)).toEqual({ prefix: key.slice(0, 10), suffix: key.slice(-4) })
  })

  test('take exactly 256 random bits', () => {
    expect(() => formatApiKey('standard', new Uint8Array(31))).toThrow(RangeError)
  })
})

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
