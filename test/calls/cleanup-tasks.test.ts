import { setTimeout as delay } from 'node:timers/promises'
import pino from 'pino'
import { expect, test, vi } from 'vitest'
import { createCleanupTasks } from '../../src/calls/cleanup-tasks.ts'

const LOGGER = pino({ level: 'silent' })
const DURABLE_MS = 20

function run(later: () => Promise<string>) {
  const task = vi.fn(async () => undefined)
  const epoch = { lastToken: () => 'epoch/1', durabilityToken: later }
  createCleanupTasks(LOGGER, epoch, DURABLE_MS).add(task)
  expect(task).toHaveBeenCalledTimes(1)
  return task
}

test('repeats a task whose writes Redis may have lost', async () => {
  const task = run(async () => 'epoch/2')
  await vi.waitFor(() => expect(task.mock.calls.length).toBeGreaterThan(1))
})

test('repeats a task where Redis cannot be asked', async () => {
  const task = run(() => Promise.reject(new Error('away')))
  await vi.waitFor(() => expect(task.mock.calls.length).toBeGreaterThan(1))
})

test('repeats no task where Redis stayed connected', async () => {
  const later = vi.fn(async () => 'epoch/1')
  const task = run(later)
  await vi.waitFor(() => expect(later).toHaveBeenCalled())
  await delay(3 * DURABLE_MS)
  expect(task).toHaveBeenCalledTimes(1)
})
