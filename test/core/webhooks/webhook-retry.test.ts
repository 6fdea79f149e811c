import { describe, expect, test } from 'vitest'
import {
  type AttemptResult,
  afterAttempt,
  RETRY_DELAYS_MS,
} from '../../../src/core/webhooks/webhook-retry.ts'

const answered = (statusCode: number, retryAfterMs: number | null = null): AttemptResult => ({
  kind: 'answered',
  statusCode,
  retryAfterMs,
  durationMs: 1,
})
const silence: AttemptResult = { kind: 'unanswered', error: 'ECONNREFUSED', durationMs: 1 }
const following = (result: AttemptResult, attempts = 1, random = 0.5) =>
  afterAttempt(result, attempts, RETRY_DELAYS_MS, random)

describe('what follows an attempt to deliver an event', () => {
  test.each([200, 201, 204, 299])('%i is delivered', (status) => {
    expect(following(answered(status))).toEqual({ kind: 'delivered' })
  })

  test.each([301, 302, 307, 400, 401, 404, 408, 429, 500, 503])('%i is tried again', (status) => {
    expect(following(answered(status))).toEqual({ kind: 'retry', delayMs: 5_000 })
  })

  test('410 ends the endpoint', () => {
    expect(following(answered(410))).toEqual({ kind: 'gone' })
  })

  test('pauses grow to hours, and end', () => {
    const pauses: number[] = []
    for (let attempts = 1; ; attempts += 1) {
      const next = following(silence, attempts)
      if (next.kind !== 'retry') {
        expect(next).toEqual({ kind: 'give-up' })
        break
      }
      pauses.push(next.delayMs)
    }
    expect(pauses).toEqual([...pauses].sort((a, b) => a - b))
    expect(pauses).toHaveLength(10)
    expect(pauses.at(-1)).toBe(12 * 3_600_000)
  })

  test('pauses are spread by a fifth either way', () => {
    expect(following(silence, 1, 0)).toEqual({ kind: 'retry', delayMs: 4_000 })
    expect(following(silence, 1, 0.999_999)).toEqual({ kind: 'retry', delayMs: 6_000 })
  })

  test('Retry-After stretches a pause, for an hour at most, and never shortens it', () => {
    expect(following(answered(503, 60_000))).toEqual({ kind: 'retry', delayMs: 60_000 })
    expect(following(answered(503, 1_000))).toEqual({ kind: 'retry', delayMs: 5_000 })
    expect(following(answered(429, 86_400_000))).toEqual({ kind: 'retry', delayMs: 3_600_000 })
  })
})
