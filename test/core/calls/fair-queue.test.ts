import { describe, expect, test } from 'vitest'
import { type QueueLane, queuePriority, queueTurn } from '../../../src/core/calls/fair-queue.ts'

const SETTINGS = { accountQueueShare: 8, queueWaitMs: 15_000, flexWaitMs: 600_000 }
const NOW = 1_800_000_000_000

const priorityAt = (openCalls: number, nowMs: number, lane?: QueueLane) =>
  queuePriority(openCalls, queueTurn(nowMs, SETTINGS, lane))

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

  test('of the slow lane comes after every call of the other, however old and however many, and by accounts', () => {
    const first = priorityAt(1, NOW, 'flex')
    expect(first).toBeGreaterThan(priorityAt(100_000, NOW + 3_600_000))
    // The tenth call of an account waits behind the first of another that comes some seconds later.
    expect(priorityAt(1, NOW + 3_000, 'flex')).toBeLessThan(priorityAt(10, NOW, 'flex'))
    // None that comes half the patience later passes it.
    expect(priorityAt(1, NOW + 300_000, 'flex')).toBeGreaterThan(priorityAt(100_000, NOW, 'flex'))
  })

  test('stays within what BullMQ takes, each lane in its half', () => {
    for (let hour = 0; hour < 100; hour++) {
      const priority = priorityAt(50, NOW + hour * 3_600_000)
      const flex = priorityAt(100_000, NOW + hour * 3_600_000, 'flex')
      expect(Number.isInteger(priority) && priority >= 1 && priority < 2 ** 20).toBe(true)
      expect(Number.isInteger(flex) && flex > 2 ** 20 && flex < 2 ** 21).toBe(true)
    }
  })
})
