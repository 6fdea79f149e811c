import { describe, expect, test } from 'vitest'
import { queuePriority, queueTurn } from '../../../src/core/calls/fair-queue.ts'

const SETTINGS = { accountQueueShare: 8, queueWaitMs: 15_000 }
const NOW = 1_800_000_000_000

const priorityAt = (openCalls: number, nowMs: number) => queuePriority(openCalls, queueTurn(nowMs, SETTINGS))

/** Calls in the order in which the queue serves them. */
function served(calls: ReadonlyArray<{ name: string; openCalls: number; atMs: number }>): string[] {
  const queued = calls.map(({ name, openCalls, atMs }, index) => ({
    name,
    index,
    priority: priorityAt(openCalls, NOW + atMs),
  }))
  return queued.sort((a, b) => a.priority - b.priority || a.index - b.index).map(({ name }) => name)
}

/** A flood that arrives at once. */
const flood = (name: string, calls: number, atMs: number) =>
  Array.from({ length: calls }, (_, index) => ({ name, openCalls: index + 1, atMs }))

describe('the turn of a call in the queue', () => {
  test('is in order of arrival, before all others, for an account with few open calls', () => {
    for (let openCalls = 1; openCalls <= 8; openCalls++) expect(priorityAt(openCalls, NOW)).toBe(0)
    expect(priorityAt(9, NOW)).toBeGreaterThan(0)
  })

  test('comes after the share of a flood, however many of its calls wait', () => {
    const order = served([...flood('flood', 300, 0), { name: 'quiet', openCalls: 1, atMs: 5_000 }])
    expect(order.indexOf('quiet')).toBe(8)
  })

  test('alternates between two floods', () => {
    const order = served([...flood('a', 100, 0), ...flood('b', 100, 0)])
    expect(order.slice(0, 100).filter((name) => name === 'b')).toHaveLength(50)
  })

  test('is passed by none that comes half the queue wait later, so that no call of a flood starves', () => {
    const late = priorityAt(100_000, NOW)
    expect(priorityAt(9, NOW + 7_500)).toBeGreaterThanOrEqual(late)
    expect(priorityAt(9, NOW + 7_000)).toBeLessThan(late)
  })

  test('stays within what BullMQ takes', () => {
    for (let hour = 0; hour < 100; hour++) {
      const priority = priorityAt(50, NOW + hour * 3_600_000)
      expect(Number.isInteger(priority) && priority >= 1 && priority < 2 ** 21).toBe(true)
    }
  })
})
