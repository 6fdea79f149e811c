import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ChannelCheck } from '../../../src/calls/api/channel-check.ts'
import { RedisAwayError } from '../../../src/platform/redis/redis-deadlines.ts'

let sent: number[]
let check: ChannelCheck

beforeEach(() => {
  vi.useFakeTimers()
  sent = []
  check = new ChannelCheck({ sendProbe: (number) => void sent.push(number) })
})
afterEach(() => {
  check.stop()
  vi.useRealTimers()
})

test('waits for nothing, and sends nothing, while no connection was interrupted', async () => {
  await check.untilReceiving()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(sent).toEqual([])
})

test('after a reconnect, calls wait until a message sent since then arrives', async () => {
  check.interrupted()
  let isHeard = false
  const waiting = check.untilReceiving().then(() => {
    isHeard = true
  })
  await vi.advanceTimersByTimeAsync(350)
  expect(sent).toEqual([1, 2, 3, 4])
  // The other connection came back only now: messages before it may have taken the former way.
  check.interrupted()
  check.arrived(4)
  await vi.advanceTimersByTimeAsync(100)
  expect(isHeard).toBe(false)
  check.arrived(sent.at(-1)!)
  await waiting
  await vi.advanceTimersByTimeAsync(10_000)
  expect(sent).toHaveLength(5)
  await check.untilReceiving()
})

test('a call that waits two seconds for the channel check fails with 503, and later calls start a new check', async () => {
  check.interrupted()
  const failing = expect(check.untilReceiving()).rejects.toBeInstanceOf(RedisAwayError)
  await vi.advanceTimersByTimeAsync(2_000)
  await failing
  const waiting = check.untilReceiving()
  check.arrived(sent.at(-1)!)
  await waiting
})
