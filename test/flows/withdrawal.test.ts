import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { ask, stream } from '../helpers/chat-client.ts'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const LOCK_MS = 2_000
const QUEUE_WAIT_MS = 4_000
const WORDS = 40

const models = {
  'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }],
  'test/late': [{ at: 'alpha', model: `words-${WORDS}.latency-3000` }],
  'test/steady': [{ at: 'alpha', model: `words-${WORDS}.rate-10` }],
  'test/short': [{ at: 'alpha', model: 'words-10.rate-200' }],
}
const stack = testStack({
  models,
  environment: { JOB_LOCK_MS: String(LOCK_MS), QUEUE_WAIT_MS: String(QUEUE_WAIT_MS) },
})
const caller = testAccount(stack, '50.00')
let whole: string
beforeAll(async () => {
  whole = (await ask(caller, { model: 'test/plain' })).text!
})

const repeat = <T>(times: number, one: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: times }, (_, index) => one(index)))

describe('while Redis stands still for longer than a claim and than a call may wait', () => {
  const CALLS = 8

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
  const pair = testStack({
    models,
    processes: ['dispatch'],
    dispatchWorkers: 2,
    // Some calls are looked after for the first time between the end of their lock and their takeover.
    environment: { JOB_LOCK_MS: String(LOCK_MS), QUEUE_WAIT_MS: String(LOCK_MS + 1_000) },
  })
  const pairCaller = testAccount(pair, '50.00')

  test('has its calls taken over by the other, also those older than a call may wait in the queue', async () => {
    expect(await ask(pairCaller, { model: 'test/plain' })).toMatchObject({ text: whole })
    const asking = repeat(CALLS, async (index) => {
      await delay(index * EVERY_MS)
      return ask(pairCaller, { model: 'test/late' })
    })
    await expect.poll(() => pair.providers.log.received).toBeGreaterThan(CALLS / 2)
    const [hanging] = pair.dispatch
    hanging!.pause()
    const answers = await asking
    hanging!.resume()
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, text: whole })
    await expectLedgerInOrder(pair)
  })
})

test('calls whose clients hang up at the last words are charged for what their provider produced, by two settlement workers', async () => {
  const rounds = 4
  const atOnce = 25
  await stack.startSettlement()
  const words = (await ask(caller, { model: 'test/short' })).text!
  const ids: string[] = []
  for (let round = 0; round < rounds; round++) {
    await repeat(atOnce, async (index) => {
      const open = await stream(caller, { model: 'test/short' })
      // From somewhere in the last three words to after the very last.
      await open.said(words.length - ((index + round) % 18))
      open.hangUp()
      ids.push(open.soFar.id!)
    })
  }
  await untilIdle(stack)
  const records = await stack.postgres.callRecord.findMany({ where: { id: { in: ids } } })
  expect(records).toHaveLength(rounds * atOnce)
  expect(records.filter(({ chargePico }) => chargePico === 0n)).toEqual([])
  await expectLedgerInOrder(stack)
})
