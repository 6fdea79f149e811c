import { expect, test } from 'vitest'
import { createWindowLimit } from '../../src/http/window-limit.ts'

test('a holder may do something so often within a window, others as often, and again in the next', () => {
  let nowMs = 0
  const limit = createWindowLimit({ max: 2, windowMs: 60_000, refusal: 'Wait.', clock: () => nowMs })
  limit.take('one')
  nowMs = 20_000
  limit.take('one')
  expect(() => limit.take('one')).toThrow(
    expect.objectContaining({ status: 429, message: 'Wait.', details: { retryAfterSeconds: 40 } }),
  )
  limit.take('other')
  nowMs = 60_000
  limit.check('one')
  limit.take('one')
})

test('a clock set back delays requests by one window at most', () => {
  let nowMs = 3_600_000
  const limit = createWindowLimit({ max: 1, windowMs: 60_000, refusal: 'Wait.', clock: () => nowMs })
  limit.take('one')
  nowMs = 0
  limit.take('one')
  expect(() => limit.take('one')).toThrow(
    expect.objectContaining({ status: 429, details: { retryAfterSeconds: 60 } }),
  )
})
