import pino from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { sampleLines } from '../../../src/platform/observability/logger.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function logged() {
  const lines: Array<Record<string, unknown>> = []
  const logger = pino(
    { hooks: { logMethod: sampleLines() }, base: null, timestamp: false },
    { write: (line) => void lines.push(JSON.parse(line)) },
  )
  return { logger, lines }
}

test('of a thousand refused calls in a second a few lines are written, and one that counts the others', async () => {
  const { logger, lines } = logged()
  for (let index = 0; index < 1_000; index++) logger.warn({ code: 'overloaded', index }, 'call refused')
  expect(lines).toHaveLength(3)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(lines).toHaveLength(4)
  expect(lines[3]).toEqual({ level: 40, msg: 'call refused', code: 'overloaded', repeated: 997 })
  logger.warn({ code: 'overloaded' }, 'call refused')
  expect(lines).toHaveLength(5)
})

test('lines of another message or code, and those that are no warnings, are all written', () => {
  const { logger, lines } = logged()
  for (let index = 0; index < 10; index++) {
    logger.warn(`message ${index}`)
    logger.warn({ code: `code ${index}` }, 'call refused')
    logger.info('said often')
  }
  expect(lines).toHaveLength(30)
})
