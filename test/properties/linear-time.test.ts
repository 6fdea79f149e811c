import { describe, expect, test } from 'vitest'
import { repairJson } from '../../src/core/json/json-repair.ts'
import { slowness, threadTimeMs } from '../helpers/linear-time.ts'
import { ANSWERS } from '../helpers/worst-answers.ts'
import { IN_THREADS, REQUESTS } from '../helpers/worst-requests.ts'

/** What reaches an event loop takes a few tens of ms. */
const LOOP_BOUND_MS = 800
/** What runs in a thread has a deadline of seconds. */
const THREAD_BOUND_MS = 4_000

describe('what anybody sends takes time that grows with its size, and little at the largest', () => {
  test.each(REQUESTS)('request: $name', async (transformation) => {
    expect(await slowness(transformation, LOOP_BOUND_MS)).toBeNull()
  })

  test.each(ANSWERS)('answer: $name', async (transformation) => {
    expect(await slowness(transformation, LOOP_BOUND_MS)).toBeNull()
  })

  test.each(IN_THREADS)('in a thread: $name', async (transformation) => {
    expect(await slowness(transformation, THREAD_BOUND_MS)).toBeNull()
  })
})

/** Repairing is not linear, which is why it gets 32 kB, a thread and a deadline. */
test.each(['"a" b ', "========' ", "'a ", '{"k":```', '[[{"a":', '{"a":1] ', '[1,}', '{   '])(
  'the longest answer that is repaired, of %j, takes less than a second',
  async (piece) => {
    const input = (size: number) => `[${piece.repeat(Math.floor(size / piece.length))}`
    const startedAt = threadTimeMs()
    repairJson({ content: input(32_000), root: 'either' })
    expect(threadTimeMs() - startedAt).toBeLessThan(1_000)
  },
)

test('the measure finds quadratic and slow functions', async () => {
  const spin = (steps: number) => {
    const endAt = threadTimeMs() + steps / 1_000
    while (threadTimeMs() < endAt);
  }
  const linear = { name: 'linear', size: 30_000, input: (size: number) => size, run: spin }
  expect(await slowness(linear, 400)).toBeNull()
  expect(await slowness(linear, 12)).toMatch(/30000 take/)
  const quadratic = { name: 'quadratic', size: 340, input: (size: number) => size * size, run: spin }
  expect(await slowness(quadratic, 400)).toMatch(/a quarter of them/)
})
