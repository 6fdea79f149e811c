import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createRetryBudget, type RetryBudget } from '../../src/offer-health/retry-budget.ts'
import { createLogger } from '../../src/platform/observability/logger.ts'
import { createRedis, type Redis } from '../../src/platform/redis/redis.ts'
import { createTestRedis, type TestRedis } from '../helpers/services.ts'

let server: TestRedis
let nowMs: number
let clients: Redis[]
let budgets: RetryBudget[]

beforeAll(async () => {
  server = await createTestRedis()
})
afterAll(() => server.close())
beforeEach(() => {
  nowMs = 1_700_000_000_000
  clients = []
  budgets = []
})
afterEach(async () => {
  await Promise.all(budgets.map((budget) => budget.close()))
  for (const client of clients) client.disconnect()
  const cleaner = createRedis({ url: server.url, name: 'test', mode: 'wait' })
  await cleaner.flushall()
  await cleaner.quit()
})

function startBudget(limits: { percent: number; floor: number }, url = server.url): RetryBudget {
  const redis = createRedis({ url, name: 'test', mode: 'wait' })
  clients.push(redis)
  const budget = createRetryBudget({
    redis,
    limits,
    now: () => nowMs,
    logger: createLogger('silent', 'test'),
  })
  budgets.push(budget)
  return budget
}

async function granted(budget: RetryBudget, asks: number): Promise<number> {
  const answers = await Promise.all(Array.from({ length: asks }, () => budget.ask()))
  return answers.filter(Boolean).length
}

describe('the retry budget', () => {
  test('grants the floor to the whole fleet together, however few calls there are', async () => {
    const [one, other] = [startBudget({ percent: 20, floor: 10 }), startBudget({ percent: 20, floor: 10 })]
    const [first, second] = await Promise.all([granted(one, 20), granted(other, 20)])
    expect(first + second).toBe(10)
  })

  test('grants a share of the calls of the whole fleet', async () => {
    const [one, other] = [startBudget({ percent: 20, floor: 0 }), startBudget({ percent: 20, floor: 0 })]
    for (let call = 0; call < 100; call++) one.countCall()
    for (let call = 0; call < 50; call++) other.countCall()
    expect(await granted(one, 50)).toBe(20)
    expect(await granted(other, 50)).toBe(10)
  })

  test('is whole again when its window has passed', async () => {
    const budget = startBudget({ percent: 0, floor: 3 })
    expect(await granted(budget, 5)).toBe(3)
    nowMs += 11_000
    expect(await granted(budget, 5)).toBe(3)
  })

  test('without Redis it stays within the share of this process, and never rejects', async () => {
    const budget = startBudget({ percent: 20, floor: 100 }, 'redis://127.0.0.1:1')
    clients.at(-1)!.on('error', () => undefined)
    for (let call = 0; call < 10; call++) budget.countCall()
    expect(await budget.ask()).toBe(true)
    expect(await budget.ask()).toBe(true)
    expect(await budget.ask()).toBe(false)
  })
})
