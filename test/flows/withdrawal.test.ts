import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { ask, type Caller, stream } from '../helpers/chat-client.ts'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { type StackOptions, startStack, type TestStack } from '../helpers/stack.ts'

const LOCK_MS = 2_000
const QUEUE_WAIT_MS = 4_000
const WORDS = 40

let stack: TestStack
let caller: Caller
let whole: string

const models = {
  'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }],
  'test/late': [{ at: 'alpha', model: `words-${WORDS}.latency-3000` }],
  'test/steady': [{ at: 'alpha', model: `words-${WORDS}.rate-10` }],
  'test/short': [{ at: 'alpha', model: 'words-10.rate-200' }],
}

async function start(
  options: Pick<StackOptions, 'processes' | 'dispatchWorkers'>,
  queueWaitMs = QUEUE_WAIT_MS,
): Promise<void> {
  stack = await startStack({
    ...options,
    models,
    environment: { JOB_LOCK_MS: String(LOCK_MS), QUEUE_WAIT_MS: String(queueWaitMs) },
  })
  caller = await stack.account('50.00')
  whole = (await ask(caller, { model: 'test/plain' })).text!
}

const repeat = <T>(times: number, one: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: times }, (_, index) => one(index)))

describe('while Redis stands still for longer than a claim and than a call may wait', () => {
  const CALLS = 8
  beforeAll(() => start({}))
  afterAll(() => stack?.close())

  test('running calls survive a Redis pause longer than lock and queue wait: each is whole, charged once, and no 408', async () => {
    stack.providers.reset()
    const asking = repeat(CALLS, () => ask(caller, { model: 'test/late' }))
    const streaming = repeat(CALLS, async () => (await stream(caller, { model: 'test/steady' })).end)
    await expect.poll(() => stack.providers.log.received).toBe(CALLS * 2)
    stack.redisServer.pause()
    const pausedAt = Date.now()
    // The first ones find out, the others do not wait for it.
    const refused = await repeat(CALLS, () => ask(caller, { model: 'test/plain' }))
    const unready = await fetch(`${stack.url}/readyz`)
    for (const { status } of [...refused, unready]) expect(status).toBe(503)
    await delay(pausedAt + LOCK_MS + QUEUE_WAIT_MS + 2_000 - Date.now())
    stack.redisServer.resume()
    for (const answer of await asking) expect(answer).toMatchObject({ status: 200, text: whole })
    for (const answer of await streaming)
      expect(answer).toMatchObject({ status: 200, text: whole, done: true, errorCode: null })
    // The locks had lapsed, but nobody else had the calls: none was asked for a second time.
    expect(stack.providers.log.received).toBe(CALLS * 2)
    await expectLedgerInOrder(stack)
    // What was refused did not run afterwards. Its connections were reset meanwhile, so Redis might have lost that a worker
    // had it: then a record without an attempt is the evidence that its client got an error.
    const free = await stack.postgres.callRecord.findMany({ where: { chargePico: 0n } })
    for (const record of free)
      expect(record).toMatchObject({
        status: 'failed',
        errorCode: 'overloaded',
        servedOfferId: null,
        attempts: [],
      })
    expect(free.length).toBeLessThanOrEqual(CALLS)
    expect(stack.providers.log.received).toBe(CALLS * 2)
  })

  test('or takes no writes: the same, and each is charged as soon as it takes them again', async () => {
    stack.providers.reset()
    const asking = repeat(CALLS, () => ask(caller, { model: 'test/late' }))
    const streaming = repeat(CALLS, async () => (await stream(caller, { model: 'test/steady' })).end)
    await expect.poll(() => stack.providers.log.received).toBe(CALLS * 2)
    const charged = await stack.postgres.callRecord.count({ where: { chargePico: { gt: 0n } } })
    await stack.redis.replicaof('127.0.0.1', 1)
    try {
      expect(await ask(caller, { model: 'test/plain' })).toMatchObject({ status: 503 })
      for (const answer of await asking) expect(answer).toMatchObject({ status: 200, text: whole })
      for (const answer of await streaming)
        expect(answer).toMatchObject({ status: 200, text: whole, done: true, errorCode: null })
    } finally {
      await stack.redis.replicaof('NO', 'ONE')
    }
    await expectLedgerInOrder(stack)
    const chargedSince = await stack.postgres.callRecord.count({ where: { chargePico: { gt: 0n } } })
    expect(chargedSince - charged).toBe(CALLS * 2)
    expect(stack.providers.log.received).toBe(CALLS * 2)
  })

  test('and where the stalled check has put a call back that its worker claims again: it runs on', async () => {
    stack.providers.reset()
    const open = await stream(caller, { model: 'test/steady' })
    await open.said(1)
    const id = open.soFar.id!
    const key = (name: string) => `${queuePrefix(0)}:dispatch:${name}`
    await stack.redis
      .multi()
      .del(key(`${id}:lock`))
      .lrem(key('active'), 1, id)
      .rpush(key('wait'), id)
      .zadd(key('marker'), 0, '0')
      .exec()
    await expect.poll(() => stack.redis.hget(key(id), 'ats')).toBe('2')
    expect(await open.end).toMatchObject({ status: 200, text: whole, done: true, errorCode: null })
    expect(stack.providers.log.received).toBe(1)
    await expectLedgerInOrder(stack)
  })
})

describe('a dispatch worker that hangs for longer than its claim', () => {
  const CALLS = 24
  const EVERY_MS = 100
  // Some calls are looked after for the first time between the end of their lock and their takeover.
  beforeAll(() => start({ processes: ['dispatch'], dispatchWorkers: 2 }, LOCK_MS + 1_000))
  afterAll(() => stack?.close())

  test('has its calls taken over by the other, also those older than a call may wait in the queue', async () => {
    const asking = repeat(CALLS, async (index) => {
      await delay(index * EVERY_MS)
      return ask(caller, { model: 'test/late' })
    })
    await expect.poll(() => stack.providers.log.received).toBeGreaterThan(CALLS / 2)
    const [hanging] = stack.dispatch
    hanging!.pause()
    const answers = await asking
    hanging!.resume()
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, text: whole })
    await expectLedgerInOrder(stack)
  })
})

describe('clients that hang up at the last words, with two settlement workers', () => {
  const ROUNDS = 12
  const AT_ONCE = 25
  beforeAll(async () => {
    await start({})
    await stack.startSettlement()
  })
  afterAll(() => stack?.close())

  test('every call is charged for what its provider produced', async () => {
    const words = (await ask(caller, { model: 'test/short' })).text!
    const ids: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await repeat(AT_ONCE, async (index) => {
        const open = await stream(caller, { model: 'test/short' })
        // From somewhere in the last three words to after the very last.
        await open.said(words.length - ((index + round) % 18))
        open.hangUp()
        ids.push(open.soFar.id!)
      })
    }
    await untilIdle(stack)
    const records = await stack.postgres.callRecord.findMany({ where: { id: { in: ids } } })
    expect(records).toHaveLength(ROUNDS * AT_ONCE)
    expect(records.filter(({ chargePico }) => chargePico === 0n)).toEqual([])
    await expectLedgerInOrder(stack)
  })
})
