import { expect, test } from 'vitest'
import { countMessages, type Fleet } from './frame-messages.ts'

const SMALL: Fleet = { apis: 2, workers: 4, callsPerSecond: 20, callSeconds: 10, tokensPerSecond: 30 }
const LARGE: Fleet = {
  apis: 100,
  workers: 1_000,
  callsPerSecond: 1_000,
  callSeconds: 10,
  tokensPerSecond: 30,
}
const PACED = { kind: 'paced', factor: 4, maxMs: 100 } as const

test('counts the same messages again for one seed', () => {
  expect(countMessages(SMALL, PACED)).toEqual(countMessages(SMALL, PACED))
  expect(countMessages(SMALL, PACED)).not.toEqual(countMessages(SMALL, PACED, 2))
})

test('paced messages delay no token of a small fleet, and leave a large one a Redis that keeps up', () => {
  const [turn, paced] = [countMessages(SMALL, { kind: 'turn' }), countMessages(SMALL, PACED)]
  expect(paced.delayMs.p50).toBeLessThan(turn.delayMs.p50 + 0.5)
  expect(countMessages(LARGE, { kind: 'turn' }).redis).toBeGreaterThan(1.5)
  const { redis, delayMs } = countMessages(LARGE, PACED)
  expect(redis).toBeLessThan(1)
  expect(delayMs.p99).toBeLessThan(150)
  expect(delayMs.firstP50).toBeLessThan(30)
})
