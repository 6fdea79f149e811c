import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { ask, type StreamSoFar, stream, type WholeAnswer } from '../helpers/chat-client.ts'
import { onBusyMachine } from '../helpers/eventually.ts'
import { expectLedgerInOrder, sweepNow, untilIdle } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import type { Part } from '../helpers/stack-part.ts'

const WORDS = 100
const GRACE_MS = 1_500
const QUEUE_WAIT_MS = 8_000
const EMPTIED_FOR_MS = 5_500
const EMPTIED_EVERY_MS = 1_700

let whole: string
let workers: Part[]

const stack = testStack({
  processes: ['dispatch'],
  databaseProxy: true,
  dispatchWorkers: 2,
  environment: {
    JOB_LOCK_MS: '2000',
    RECOVERY_GRACE_MS: String(GRACE_MS),
    QUEUE_WAIT_MS: String(QUEUE_WAIT_MS),
  },
  models: {
    'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }],
    'test/steady': [{ at: 'alpha', model: `words-${WORDS}.rate-40` }],
    'test/begun': [{ at: 'alpha', model: `words-${WORDS}.held-20` }],
    'test/quick': [{ at: 'alpha', model: `words-${WORDS}.rate-200` }],
    'test/held': [{ at: 'alpha', model: `words-${WORDS}.held` }],
  },
})
const caller = testAccount(stack, '5.00')
beforeAll(async () => {
  workers = stack.dispatch
  whole = (await ask(caller, { model: 'test/plain' })).text!
})
// The balance of the caller is in Redis at the beginning of each case.
beforeEach(async () => expect((await ask(caller, { model: 'test/plain' })).status).toBe(200))
afterEach(async () => {
  stack.databaseProxy!.restore()
  await expectLedgerInOrder(stack)
})

/** Redis's data is gone. Once with its server in place, once with another server at its address. */
const LOSSES = [
  ['emptied', () => stack.redis.flushall()],
  [
    'replaced by an empty server',
    async () => {
      await stack.redisServer.kill()
      await stack.redisServer.restart()
    },
  ],
] as const

const repeat = <T>(times: number, one: () => Promise<T>) => Promise.all(Array.from({ length: times }, one))

/** So many calls of a model are with the provider. */
const withProvider = (part: string, calls: number) =>
  expect
    .poll(() =>
      stack.providers.log.requests.filter(({ model, state }) => model?.includes(part) && state === 'open'),
    )
    .toHaveLength(calls)

async function expectCharged(answers: Array<WholeAnswer | StreamSoFar>): Promise<void> {
  await untilIdle(stack)
  const where = { id: { in: answers.map((answer) => answer.id!) } }
  // After a loss the queues are empty at once, while workers still keep settlements that they enqueue again.
  await expect.poll(() => stack.postgres.callRecord.count({ where })).toBe(answers.length)
  const records = await stack.postgres.callRecord.findMany({ where })
  for (const record of records) {
    expect(record).toMatchObject({ status: 'completed', completionTokens: WORDS })
  }
}

describe.each(LOSSES)('Redis %s', (_, lose) => {
  test('under running calls: each is answered whole and charged once, and no hold is lost', async () => {
    const streams = await repeat(8, () => stream(caller, { model: 'test/steady' }))
    const late = repeat(8, () => ask(caller, { model: 'test/held' }))
    await Promise.all([...streams.map((one) => one.said(20)), withProvider('held', 8)])
    await lose()
    const ended = await Promise.all(streams.map((one) => one.end))
    stack.providers.release()
    const answers = [...ended, ...(await late)]
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 200, text: whole, finishReason: 'stop', errorCode: null })
    }
    await expectCharged(answers)
    expect(await sweepNow(stack)).toBe(0)
  })

  test('while settlements wait for PostgreSQL: they land all the same, once each', async () => {
    stack.databaseProxy!.refuse()
    const answers = await repeat(30, () => ask(caller, { model: 'test/plain' }))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    await lose()
    stack.databaseProxy!.restore()
    await expect
      .poll(() => stack.postgres.callRecord.count({ where: { id: { in: answers.map(({ id }) => id!) } } }))
      .toBe(answers.length)
    await expectCharged(answers)
  })
})

describe('Redis emptied', () => {
  test('while calls hold nearly all of a balance: nothing is spent twice', async () => {
    // 1.5 calls' worth: while one runs, no other may be admitted.
    const { key, accountId } = await stack.account('0.0040')
    const poor = { url: stack.url, key }
    const body = { max_tokens: 1_200 }
    const running = await stream(poor, { model: 'test/begun', ...body })
    await running.said(10)
    await stack.redis.flushall()
    const others = await repeat(5, () => ask(poor, { model: 'test/plain', ...body }))
    expect(others.map((answer) => answer.status)).toEqual(others.map(() => 402))
    stack.providers.release()
    expect(await running.end).toMatchObject({ done: true, text: whole })
    await stack.settled(accountId)
    expect((await ask(poor, { model: 'test/plain', ...body })).status).toBe(200)
  })

  test('while calls wait in the queue: they end truthfully within the deadline, and cost nothing', async () => {
    for (const worker of workers) worker.pause()
    const waiting = repeat(10, () => ask(caller, { model: 'test/plain' }))
    const startedAt = Date.now()
    await expect.poll(() => stack.redis.llen(`${queuePrefix(0)}:dispatch:wait`)).toBeGreaterThan(0)
    await stack.redis.flushall()
    const answers = await waiting
    expect(Date.now() - startedAt).toBeLessThan(onBusyMachine(QUEUE_WAIT_MS + 10_000))
    for (const answer of answers) expect([408, 500, 503]).toContain(answer.status)
    for (const worker of workers) worker.resume()
    expect((await ask(caller, { model: 'test/plain' })).status).toBe(200)
    await untilIdle(stack)
    await sweepNow(stack)
  })
})

test('emptied every few seconds under load: every answer that was whole is charged, once', async () => {
  const { key, accountId } = await stack.account('5.00')
  const busy = { url: stack.url, key }
  const body = { max_tokens: 100 }
  await ask(busy, { model: 'test/plain', ...body })
  const endsAt = Date.now() + EMPTIED_FOR_MS
  const answers: Array<WholeAnswer | StreamSoFar> = []
  const callOn = async (index: number) => {
    const model = index % 4 === 0 ? 'test/quick' : 'test/plain'
    while (Date.now() < endsAt) {
      const one =
        index % 2 === 0 ? (await stream(busy, { model, ...body })).end : ask(busy, { model, ...body })
      answers.push(await one)
    }
  }
  const calling = Promise.all(Array.from({ length: 8 }, (_, index) => callOn(index)))
  const emptying = setInterval(() => void stack.redis.flushall(), EMPTIED_EVERY_MS)
  await calling
  clearInterval(emptying)
  const isWhole = (answer: WholeAnswer | StreamSoFar) =>
    answer.status === 200 && (!('done' in answer) || answer.done)
  const completed = answers.filter(isWhole)
  for (const answer of completed) expect(answer).toMatchObject({ text: whole, finishReason: 'stop' })
  for (const answer of answers) if (!isWhole(answer)) expect(answer.errorCode).not.toBeNull()
  await expectCharged(completed)
  // Errors cost nothing, but for what was shown of a stream.
  const charged = await stack.postgres.callRecord.count({ where: { accountId, chargePico: { gt: 0 } } })
  expect(charged).toBeLessThanOrEqual(answers.length + 1)
  expect(await stack.postgres.quarantinedSettlement.count()).toBe(0)
  console.info(`${answers.length} calls, ${completed.length} whole, all of them charged`)
})

test('a worker that dies after Redis lost its job: another takes the call over', async () => {
  const late = repeat(4, () => ask(caller, { model: 'test/held' }))
  await withProvider('held', 4)
  await stack.redis.flushall()
  // Both have said again which calls they run.
  await expect.poll(() => stack.redis.zcard(`${queuePrefix(0)}:dispatch:delayed`)).toBe(4)
  const { received } = stack.providers.log
  const next = await stack.startDispatch()
  await Promise.all(workers.map((worker) => worker.kill()))
  workers = [next]
  await expect.poll(() => stack.providers.log.received).toBe(received + 4)
  stack.providers.release()
  for (const answer of await late) expect(answer).toMatchObject({ status: 200, text: whole })
  await expectCharged(await late)
})

test('Redis and every worker lost together: what was not settled yet is given away, and nothing else', async () => {
  const { key, accountId } = await stack.account('1.00')
  const other = { url: stack.url, key }
  await ask(other, { model: 'test/plain' })
  await untilIdle(stack)
  stack.databaseProxy!.refuse()
  const answers = await repeat(40, () => ask(other, { model: 'test/plain' }))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  await Promise.all(workers.map((worker) => worker.kill()))
  await stack.redis.flushall()
  stack.databaseProxy!.restore()
  workers = [await stack.startDispatch()]
  expect((await ask(other, { model: 'test/plain' })).status).toBe(200)
  await untilIdle(stack)
  const settled = await stack.postgres.callRecord.count({ where: { accountId } })
  // The settlement worker has one batch in hand, which it settles all the same.
  expect(settled).toBeGreaterThanOrEqual(2)
  expect(settled).toBeLessThanOrEqual(answers.length + 2)
})
