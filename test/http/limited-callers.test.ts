import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { plainKey } from '../../src/accounts/key-cache.ts'
import { ApiError } from '../../src/core/kernel/errors.ts'
import { createLimitedCallers } from '../../src/http/limited-callers.ts'
import { testStack } from '../helpers/resources.ts'

const LIMITS = {
  requestsPerMinute: 60,
  concurrentCalls: 2,
  accountRequestsPerMinute: 100,
  accountConcurrentCalls: 3,
}
const KEY = { ...plainKey('acct_1', 'key_1') }
const OTHER_KEY = { ...plainKey('acct_1', 'key_2') }

function startCallers() {
  const time = { nowMs: 1_000_000 }
  const callers = createLimitedCallers({ limits: LIMITS, clock: () => time.nowMs })
  const refusal = (key = KEY) => {
    try {
      callers.check(key)
      return null
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      return `${error.code} ${error.details.retryAfterSeconds}`
    }
  }
  return { callers, time, refusal }
}

describe('what the balance cache refused for its limit per minute', () => {
  test('is refused from memory until that would admit it, and then no more', () => {
    const { callers, time, refusal } = startCallers()
    callers.note(KEY, { scope: 'key', retryAfterMs: 5_000 }, time.nowMs - 1_000)
    expect(refusal()).toBe('rate_limit_exceeded 4')
    time.nowMs += 3_999
    expect(refusal()).toBe('rate_limit_exceeded 0.001')
    time.nowMs += 1
    expect(refusal()).toBeNull()
  })

  test('by a key closes no other key, by an account all of them', () => {
    const { callers, time, refusal } = startCallers()
    callers.note(KEY, { scope: 'key', retryAfterMs: 5_000 }, time.nowMs)
    expect(refusal(OTHER_KEY)).toBeNull()
    callers.note(KEY, { scope: 'account', retryAfterMs: 5_000 }, time.nowMs)
    expect(refusal(OTHER_KEY)).toBe('rate_limit_exceeded 5')
    expect(refusal({ ...plainKey('acct_2', 'key_3') })).toBeNull()
  })

  test('is asked again at once where the clock was put back', () => {
    const { callers, time, refusal } = startCallers()
    callers.note(KEY, { scope: 'key', retryAfterMs: 5_000 }, time.nowMs)
    time.nowMs -= 600_000
    expect(refusal()).toBeNull()
  })

  test('is asked again at once under a higher limit', () => {
    const { callers, time, refusal } = startCallers()
    callers.note(KEY, { scope: 'key', retryAfterMs: 5_000 }, time.nowMs)
    expect(refusal({ ...KEY, requestsPerMinute: 61 })).toBeNull()
    expect(refusal({ ...KEY, requestsPerMinute: 59 })).toBe('rate_limit_exceeded 5')
  })
})

test('an account has a bounded number of requests under way, and others have theirs', () => {
  const { callers } = startCallers()
  const ends = Array.from({ length: 106 }, (_, index) => callers.begin(index % 2 ? KEY : OTHER_KEY))
  expect(() => callers.begin(KEY)).toThrow(/limit of concurrent requests/)
  callers.begin({ ...plainKey('acct_2', 'key_3') })
  ends[0]!()
  callers.begin(KEY)
})

describe('a key beyond its limit per minute', () => {
  const stack = testStack({ models: { 'test/plain': [{ at: 'alpha', model: 'words-2' }] } })

  test('is a 429 before the body of its next call is read, with the time that is left', async () => {
    const { key } = await stack.account('1.00', { requestsPerMinute: 2 })
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'test/plain', messages: [{ role: 'user', content: 'Hello.' }] })
    const call = async () => {
      const response = await fetch(`${stack.url}/v1/chat/completions`, { method: 'POST', headers, body })
      await response.arrayBuffer()
      return response
    }
    expect([(await call()).status, (await call()).status]).toEqual([200, 200])
    const asked = await call()
    expect(asked.status).toBe(429)

    const unsent = request(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: { ...headers, 'content-length': '1000' },
    })
    unsent.flushHeaders()
    const [refused] = (await once(unsent, 'response')) as [IncomingMessage]
    expect(refused.statusCode).toBe(429)
    const [before, now] = [asked.headers.get('retry-after'), refused.headers['retry-after']].map(Number)
    expect(now).toBeGreaterThan(0)
    expect(now).toBeLessThanOrEqual(before!)
    expect(refused.headers['x-ratelimit-remaining-requests']).toBe('0')
    unsent.on('error', () => undefined).destroy()
  })
})
