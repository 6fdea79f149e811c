import { EventEmitter } from 'node:events'
import pino from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { stopOnSignal } from '../../../src/platform/process/stop-on-signal.ts'

const GRACE_MS = 1_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function stoppable(stop: () => Promise<void>) {
  const codes: unknown[] = []
  const process = Object.assign(new EventEmitter(), { exit: (code: unknown) => codes.push(code) as never })
  const stopping = vi.fn(stop)
  stopOnSignal({
    name: 'it',
    graceMs: GRACE_MS,
    stop: stopping,
    logger: pino({ level: 'silent' }),
    process: process as never,
  })
  return { process, codes, stopping }
}

test('a signal stops the process once, and it ends when everything is closed', async () => {
  const { process, codes, stopping } = stoppable(async () => undefined)
  process.emit('SIGTERM', 'SIGTERM')
  await vi.advanceTimersByTimeAsync(0)
  expect(codes).toEqual([0])
  expect(stopping).toHaveBeenCalledTimes(1)
})

test('a stop that hangs ends within the grace and five seconds', async () => {
  const { process, codes } = stoppable(() => new Promise(() => undefined))
  process.emit('SIGTERM', 'SIGTERM')
  await vi.advanceTimersByTimeAsync(GRACE_MS + 4_999)
  expect(codes).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(codes).toEqual([1])
})

test('a second signal ends the process at once', () => {
  const { process, codes, stopping } = stoppable(() => new Promise(() => undefined))
  process.emit('SIGTERM', 'SIGTERM')
  process.emit('SIGINT', 'SIGINT')
  expect(codes).toEqual([1])
  expect(stopping).toHaveBeenCalledTimes(1)
})
