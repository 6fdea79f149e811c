import { setTimeout as delay } from 'node:timers/promises'
import { ulid } from 'ulid'
import { beforeAll, describe, expect, test } from 'vitest'
import { createHoldStore } from '../../src/billing/holds/hold-store.ts'
import type { QueuesView } from '../../src/core/api/operations.ts'
import { type CallId, newId } from '../../src/core/kernel/ids.ts'
import { MINUTE_MS } from '../../src/core/kernel/time.ts'
import { createDispatchQueue } from '../../src/platform/queues/queues.ts'
import {
  endingChannels,
  epochKey,
  queuePrefix,
  replyChannel,
  shardNumbers,
  shardOf,
  unacknowledgedEndsKey,
} from '../../src/platform/redis/redis-keys.ts'
import { freePort } from '../../tools/launcher/ports.ts'
import { ask, type StreamSoFar, stream, streamed, type WholeAnswer } from '../helpers/chat-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectLedgerInOrder, sweepNow, untilIdle } from '../helpers/ledger.ts'
import { openHold } from '../helpers/open-hold.ts'
import { filled, testOperator, testStack } from '../helpers/resources.ts'
import { createTestRedis } from '../helpers/services.ts'
import type { TestAccount } from '../helpers/stack.ts'
import { spawnPart } from '../helpers/stack-part.ts'

type Answer = WholeAnswer | StreamSoFar
const isWhole = (answer: Answer | null) => answer?.status === 200 && answer.errorCode === null

const SHARDS = 4
const WORDS = 40
const durable = () => createTestRedis({ durable: true })

describe('four shards over two servers', () => {
  const first = filled(durable, (server) => server.close())
  const second = filled(durable, (server) => server.close())
  const stack = testStack(() => ({
    redisUrl: `${first.url},${second.url}`,
    processes: ['dispatch'],
    dispatchWorkers: 2,
    models: {
      'test/one': [{ at: 'alpha', model: `words-${WORDS}` }],
      'test/steady': [{ at: 'alpha', model: `words-${WORDS}.rate-40` }],
      'test/held': [{ at: 'alpha', model: `words-${WORDS}.held` }],
      'test/twice': [{ at: 'alpha', model: `words-${2 * WORDS}` }],
      'test/long': [{ at: 'alpha', model: `words-${2 * WORDS}.rate-40` }],
    },
    environment: {
      REDIS_SHARDS: String(SHARDS),
      WORKER_CONCURRENCY: '16',
      JOB_LOCK_MS: '2000',
      RECOVERY_GRACE_MS: '500',
    },
  }))

  const operator = testOperator(stack)
  /** A queue's name in Bull Board. */
  const nameOf = (queue: string, shard: number) => (shard === 0 ? queue : `${queuePrefix(shard)}:${queue}`)

  /** An account of each shard, in their order. */
  let callers: TestAccount[]
  beforeAll(async () => {
    const found = new Map<number, TestAccount>()
    while (found.size < SHARDS) {
      const account = await stack.account('5.00')
      found.set(shardOf(account.accountId, stack.redis), account)
    }
    callers = shardNumbers(stack.redis).map((shard) => found.get(shard)!)
  })

  const charged = (caller: TestAccount) =>
    stack.postgres.callRecord.findMany({
      where: { accountId: caller.accountId },
      orderBy: { admittedAtMs: 'asc' },
    })

  /** The response to a call with an Idempotency-Key, the same for every account. */
  const keyed = async ({ url, key }: TestAccount) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': 'once',
    }
    const body = { model: 'test/one', messages: [{ role: 'user', content: 'Hello' }] }
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    return response.text()
  }

  test('serve whole calls, streams and repeats of every account', async () => {
    await Promise.all(
      callers.map(async (caller) => {
        const whole = await ask(caller, { model: 'test/one' })
        const streaming = await streamed(caller, { model: 'test/steady' })
        expect(streaming).toMatchObject({ status: 200, done: true, text: whole.text })
        const [first, repeat] = [await keyed(caller), await keyed(caller)]
        expect(repeat).toBe(first)
        await stack.settled(caller.accountId)
        const ids = (await charged(caller)).map(({ id }) => id)
        expect(ids).toEqual([whole.id, streaming.id, JSON.parse(first).id])
      }),
    )
  })

  test('show operators the queues of each shard', async () => {
    const shards = shardNumbers(stack.redis)
    const { data, shards_away } = await operator.get<QueuesView>('/queues')
    expect(data.map(({ name, shard }) => `${name} ${shard}`)).toEqual([
      ...shards.map((shard) => `dispatch ${shard}`),
      ...shards.map((shard) => `settlement ${shard}`),
      ...['events 0', 'catalog 0', 'mail 0'],
    ])
    expect(shards_away).toEqual([])
    const board = await fetch(`${stack.url}/admin/queues/api/queues`, {
      headers: { authorization: `Bearer ${await stack.adminKey()}` },
    })
    const { queues } = (await board.json()) as { queues: Array<{ name: string }> }
    const ofCalls = shards.flatMap((shard) => ['dispatch', 'settlement'].map((name) => nameOf(name, shard)))
    expect(queues.map(({ name }) => name).sort()).toEqual([...ofCalls, 'catalog', 'events', 'mail'].sort())
  })

  test('maintenance closes the lost calls of every shard, and none that waits or runs', async () => {
    const callMadeAgo = (ms: number): CallId => `chatcmpl_${ulid(Date.now() - ms)}`
    const balanceOf = async (id: string) =>
      (await stack.postgres.account.findUniqueOrThrow({ where: { id } })).balancePico
    const held = await Promise.all(
      callers.map(async ({ accountId }, shard) => {
        const client = stack.redis.shard(shard)
        // Redis must have its data for a minute before anything is swept.
        const epoch = await client.get(epochKey(shard))
        await client.set(
          epochKey(shard),
          epoch!.replace(/\d+$/, (since) => String(Number(since) - 2 * MINUTE_MS)),
        )
        // An API instance that is gone did not acknowledge the end of a charged call.
        const before = await balanceOf(accountId)
        const { id } = await ask(callers[shard]!, { model: 'test/one' })
        await stack.settled(accountId)
        const channel = replyChannel(newId('api'), shard)
        await client.sadd(endingChannels(shard), channel)
        await client.hset(unacknowledgedEndsKey(channel), id!, `0:${Date.now() - 2 * MINUTE_MS}:worker_gone`)
        const [lost, waiting] = [callMadeAgo(2 * MINUTE_MS), callMadeAgo(2 * MINUTE_MS)]
        for (const callId of [lost, waiting]) await openHold(stack.redis, accountId, callId, 100n)
        const queue = createDispatchQueue(stack.redis, shard)
        const job = await queue.add('call', {} as never, { jobId: waiting, delay: 10 * MINUTE_MS })
        const close = async () => {
          await job.remove()
          await queue.close()
        }
        return { accountId, lost, waiting, before, close }
      }),
    )
    const holds = createHoldStore(stack.redis)
    const left = async (accountId: string) =>
      (await holds.openHolds(accountId)).map(({ callId }) => callId).sort()
    // It maintains at its start.
    const another = await stack.startSettlement()
    for (const { accountId, waiting } of held)
      await eventually(async () => expect(await left(accountId)).toEqual([waiting]))
    for (const { accountId, before } of held)
      await eventually(async () => expect(await balanceOf(accountId)).toBe(before))
    await another.stop()
    for (const { lost } of held)
      expect(await stack.postgres.callRecord.findUnique({ where: { id: lost } })).toMatchObject({
        status: 'failed',
        chargePico: 0n,
      })
    // A run of a minute later finds that calls run.
    const calls = callers.map((caller) => ask(caller, { model: 'test/held' }))
    await eventually(async () => {
      for (const { accountId } of held) expect(await left(accountId)).toHaveLength(2)
    })
    expect(await sweepNow(stack)).toBe(0)
    for (const { accountId, waiting } of held) {
      const running = (await left(accountId)).find((callId) => callId !== waiting)!
      const place = { id: running, queue: 'dispatch' }
      expect(await stack.command('trace', running)).toMatchObject({ code: 0, json: place })
      expect(await operator.get(`/calls/${running}/timeline`)).toMatchObject(place)
    }
    const figures = { dispatch_jobs: 2 * SHARDS, open_holds: 2 * SHARDS }
    expect(await stack.command('audit')).toMatchObject({ code: 0, json: { ok: true, figures } })
    for (const { close } of held) await close()
    expect(await sweepNow(stack)).toBe(SHARDS)
    stack.providers.release()
    for (const [shard, call] of calls.entries()) {
      const { status, id } = await call
      expect(status).toBe(200)
      await stack.settled(callers[shard]!.accountId)
      const record = await stack.postgres.callRecord.findUnique({ where: { id: id! } })
      expect(record).toMatchObject({ status: 'completed', completionTokens: WORDS })
      expect(record!.chargePico).toBeGreaterThan(0n)
    }
    await expectLedgerInOrder(stack)
  })

  test('a server loses its last writes while a worker dies: every call of every shard is settled once', async () => {
    const { text: whole } = await ask(callers[0]!, { model: 'test/twice' })
    const dying = await stack.startDispatch()
    await second.keepState()
    const wholes = callers.map((caller) => ask(caller, { model: 'test/long' }))
    // Two of each account, so that each worker has some.
    const streams = await Promise.all(
      [...callers, ...callers].map((caller) => stream(caller, { model: 'test/long' })),
    )
    await Promise.all(streams.map((open) => open.said(10)))
    await Promise.all([dying.kill(), second.killAndRollBack()])
    await second.restart()
    const answers: Answer[] = await Promise.all([...streams.map(({ end }) => end), ...wholes])
    const recorded = () => stack.postgres.callRecord.findMany({ where: { requestedModel: 'test/long' } })
    // An API instance records a call that Redis forgot and no worker has once it has sent the client its error.
    await eventually(async () => expect(await recorded()).toHaveLength(answers.length))
    await untilIdle(stack)
    expect(await sweepNow(stack)).toBe(0)
    await expectLedgerInOrder(stack)
    const records = await recorded()
    expect(records).toHaveLength(answers.length)
    const recordOf = new Map(records.map((record) => [record.id as string, record]))
    const wholeCharge = recordOf.get(answers.find(isWhole)!.id!)!.chargePico
    expect(wholeCharge).toBeGreaterThan(0n)
    for (const answer of answers) {
      if (answer.id === null) continue
      const record = recordOf.get(answer.id)!
      recordOf.delete(answer.id)
      if (isWhole(answer)) {
        expect(answer.text).toBe(whole)
        expect(record).toMatchObject({
          status: 'completed',
          completionTokens: 2 * WORDS,
          chargePico: wholeCharge,
        })
      } else {
        expect(whole!.startsWith(answer.text ?? '')).toBe(true)
        expect(record.chargePico).toBeLessThan(wholeCharge)
      }
    }
    // The other calls are those whose clients got an error alone, which does not name the call.
    expect([...recordOf.values()].filter(({ chargePico }) => chargePico > 0n)).toEqual([])
    expect(answers.filter(isWhole).length).toBeGreaterThanOrEqual(callers.length)
  })

  test.each([
    { killed: 'the second', server: second, shards: [1, 3] },
    { killed: 'the first, which has the state of the fleet,', server: first, shards: [0, 2] },
  ])(
    '$killed server killed: nothing is lost or doubled, and other accounts notice nothing',
    async ({ server, shards }) => {
      const { text: whole } = await ask(callers[0]!, { model: 'test/one' })
      let isOver = false
      /** Of each account; null where the connection broke. */
      const all: Array<Array<Answer | null>> = callers.map(() => [])
      const load = callers.map(async (caller, shard) => {
        for (let count = 0; !isOver; count++) {
          const call = count % 2 === 0 ? ask : streamed
          const answer = await call(caller, { model: 'test/steady' }).catch(() => null)
          all[shard]!.push(answer)
          if (answer?.status !== 200) await delay(50)
        }
      })
      /** Every account has had a whole answer since. */
      const untilServed = () => {
        const before = all.map(({ length }) => length)
        return expect
          .poll(() => all.every((answers, shard) => answers.slice(before[shard]).some(isWhole)))
          .toBe(true)
      }
      await untilServed()
      await server.kill()
      await delay(1_000)
      await server.restart()
      await untilServed()
      isOver = true
      await Promise.all(load)
      await expectLedgerInOrder(stack)
      for (const [shard, answers] of all.entries()) {
        for (const answer of answers) {
          if (!shards.includes(shard))
            expect(answer).toMatchObject({ status: 200, errorCode: null, text: whole })
          else expect(whole!.startsWith(answer?.text ?? '')).toBe(true)
        }
        const read = answers.filter(isWhole).map((answer) => answer!.id!)
        const records = await stack.postgres.callRecord.findMany({ where: { id: { in: read } } })
        expect(records).toHaveLength(read.length)
        for (const record of records)
          expect(record).toMatchObject({ status: 'completed', completionTokens: WORDS })
      }
    },
  )

  test('are served by one process too, but for those that its workers leave to others', async () => {
    await Promise.all([...stack.apis, ...stack.dispatch, stack.settlement].map((part) => part.stop()))
    const port = await freePort()
    const gateway = spawnPart('workers/main.ts', ['all'], {
      ...stack.environment,
      PORT: String(port),
      QUEUE_WAIT_MS: '1000',
      WORKER_SHARDS: '0,1,3',
    })
    try {
      const url = `http://127.0.0.1:${port}`
      await eventually(async () => expect((await fetch(`${url}/readyz`)).ok).toBe(true))
      const answers = await Promise.all(
        callers.map((caller) => ask({ ...caller, url }, { model: 'test/one' })),
      )
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 408, 200])
      await expectLedgerInOrder(stack)
    } finally {
      await gateway.stop()
    }
  })
})
