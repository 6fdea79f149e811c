import { describe, expect, test } from 'vitest'
import { ThreadPool } from '../../../src/platform/process/thread-pool.ts'

const LIMITS = { depth: 256, values: 100 }
const parsed = (pool: ThreadPool, json: string, weight = 0) =>
  pool.run('parseJson', { bytes: Buffer.from(json), limits: LIMITS }, { weight, limitMs: 30_000 })
/** Ideographs that no vocabulary joins: some seconds of counting. */
const SLOW = Array.from({ length: 2_000_000 }, (_, index) =>
  String.fromCharCode(0x4e00 + ((index * 7_919) % 20_000)),
).join('')
const slow = (pool: ThreadPool, weight: number, limitMs = 60_000) =>
  pool.run('countTokens', [SLOW], { weight, limitMs })

describe('a pool of threads', () => {
  test('runs tasks and hands back what they say', async () => {
    const pool = new ThreadPool()
    expect(await pool.run('countTokens', ['hello world', 'hello'], { weight: 1, limitMs: 30_000 })).toEqual({
      kind: 'done',
      value: 3,
    })
    expect(
      await pool.run('repairJson', { content: '{a: 1', root: 'either' }, { weight: 1, limitMs: 30_000 }),
    ).toEqual({
      kind: 'done',
      value: '{"a": 1}',
    })
    expect(await parsed(pool, '{"a": [1, "é"], "__proto__": {}}')).toEqual({
      kind: 'done',
      value: { kind: 'value', value: { a: [1, 'é'] } },
    })
    expect(await parsed(pool, '[')).toEqual({ kind: 'done', value: { kind: 'invalid' } })
    expect(await parsed(pool, `[${'1,'.repeat(100)}1]`)).toEqual({
      kind: 'done',
      value: { kind: 'too-many-values' },
    })
  })

  test('stops a task at its deadline, with its thread, and serves the next', async () => {
    const pool = new ThreadPool()
    await parsed(pool, '1')
    expect(await slow(pool, 1, 50)).toEqual({ kind: 'refused' })
    expect(await slow(pool, 1, 50)).toEqual({ kind: 'refused' })
    expect(await parsed(pool, '1')).toMatchObject({ kind: 'done' })
  })

  test('ends a thread that is not needed, and starts the next outside of any deadline', async () => {
    const pool = new ThreadPool(100)
    await parsed(pool, '1')
    await expect.poll(() => pool.size, { timeout: 20_000 }).toBe(0)
    const shorterThanAStart = { weight: 1, limitMs: 100 }
    expect(await pool.run('repairJson', { content: '[1', root: 'either' }, shorterThanAStart)).toEqual({
      kind: 'done',
      value: '[1]',
    })
  })

  test('runs the lightest waiting task first', async () => {
    const pool = new ThreadPool()
    const order: string[] = []
    const noted = (name: string, task: Promise<unknown>) => task.then(() => order.push(name))
    const busy = [slow(pool, 1, 500), slow(pool, 1, 500)]
    const waiting = [
      noted('heavy', slow(pool, 9, 2_000)),
      noted('last', slow(pool, 10, 2_000)),
      noted('light', parsed(pool, '1', 2)),
      noted('lightest', parsed(pool, '1', 1)),
    ]
    await Promise.all(busy)
    await Promise.all(waiting)
    expect(order.slice(0, 2).toSorted()).toEqual(['light', 'lightest'])
  })

  test('takes no more tasks than a thousand at a time', async () => {
    const pool = new ThreadPool()
    const ended: string[] = []
    const tasks = Array.from({ length: 1_100 }, () => parsed(pool, '1').then(({ kind }) => ended.push(kind)))
    // At once: before any can have run.
    await Promise.resolve()
    const refused = ended.length
    expect(new Set(ended)).toEqual(new Set(['refused']))
    await Promise.all(tasks)
    expect(refused).toBeGreaterThan(90)
    expect(refused).toBeLessThan(100)
  })
})
