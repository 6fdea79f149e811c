import { Job, Worker } from 'bullmq'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createHoldStore } from '../../../src/billing/holds/hold-store.ts'
import {
  createFinishScript,
  type FinishStep,
  type RunFinish,
} from '../../../src/calls/worker/finish-calls.ts'
import type { CallJob } from '../../../src/core/calls/call-job.ts'
import { encodeFrames } from '../../../src/core/calls/frames.ts'
import { type CallId, newCallId } from '../../../src/core/kernel/ids.ts'
import { createCallJobs } from '../../../src/platform/queues/call-jobs.ts'
import { type ClaimedJobs, openClaimedJobs } from '../../../src/platform/queues/claimed-jobs.ts'
import {
  createDispatchQueue,
  createSettlementQueue,
  DISPATCH_QUEUE,
  type DispatchQueue,
  enqueueCall,
  enqueueSettlements,
  requeueCall,
  SETTLEMENT_QUEUE,
  type SettlementQueue,
} from '../../../src/platform/queues/queues.ts'
import { createRedis, isRefusedWrite, type Redis } from '../../../src/platform/redis/redis.ts'
import {
  endingChannels,
  queuePrefix,
  replyChannel,
  unacknowledgedEndsKey,
} from '../../../src/platform/redis/redis-keys.ts'
import { settlementOf } from '../../helpers/billing.ts'
import { envelopeOf, jobOf } from '../../helpers/call-shapes.ts'
import { createTestRedis, type TestRedis } from '../../helpers/services.ts'

const LOCK_MS = 600_000
const CHANNEL = replyChannel('test')
const ACCOUNT = 'acct_1'
const TIMES = { admittedAt: 0, queueDeadlineAt: 15_000, callDeadlineAt: 600_000 }

describe('the step that finishes calls', () => {
  let server: TestRedis
  let redis: Redis
  let subscriber: Redis
  let dispatch: DispatchQueue
  let settlement: SettlementQueue
  let jobs: ClaimedJobs<CallJob>
  let bullmq: Worker
  let finish: RunFinish
  let heard: string[]

  beforeAll(async () => {
    server = await createTestRedis()
    const open = (name: string) => createRedis({ url: server.url, name, mode: 'wait' })
    redis = open('test')
    subscriber = open('test-subscriber')
    subscriber.on('message', (_, message: string) => heard.push(message))
    dispatch = createDispatchQueue(redis)
    settlement = createSettlementQueue(redis)
    jobs = openClaimedJobs(DISPATCH_QUEUE, {
      redis,
      blocking: open('test-wake'),
      lockMs: LOCK_MS,
      waitSeconds: 1,
      logger: pino({ level: 'silent' }),
      clock: Date.now,
      token: 'worker-a',
    })
    bullmq = new Worker(DISPATCH_QUEUE, null, { connection: redis, prefix: queuePrefix(0) })
    finish = createFinishScript(redis, jobs.token, () => 1_700_000_000_000)
  })
  beforeEach(async () => {
    heard = []
    await redis.flushall()
    await subscriber.subscribe(CHANNEL)
  })
  afterAll(async () => {
    await Promise.all([jobs.close(), bullmq.close(true), dispatch.close(), settlement.close()])
    redis.disconnect()
    subscriber.disconnect()
    await server.close()
  })

  const callKey = (queue: string, name: string) => `${queuePrefix(0)}:${queue}:${name}`

  /** A call that was admitted, and claimed by a worker. */
  async function claimedCall(priority = 0): Promise<CallId> {
    const id = newCallId()
    await createHoldStore(redis).restore({
      callId: id,
      accountId: ACCOUNT,
      keyId: 'key_1',
      amountPico: 100n,
      completionLimit: 1,
      draws: '',
      deadlineAt: Date.now() + 60_000,
      isOpen: true,
    })
    await enqueueCall(dispatch, envelopeOf({ id, ...TIMES }), '', priority)
    await jobs.claim(1)
    return id
  }

  const ended = (
    id: CallId,
    over: Partial<FinishStep & { isPublished: boolean }> = {},
  ): FinishStep & { isPublished: boolean } => ({
    record: settlementOf(ACCOUNT, { id, keyId: 'key_1', chargePico: '30', holdPico: '100' }),
    hold: {} as FinishStep['hold'],
    claim: 1,
    channel: CHANNEL,
    last: [id, 1, 4, ['finish', 'stop', null], 'a'],
    isPublished: true,
    needsSubscriber: true,
    takenTokens: 2,
    ...over,
  })

  const holdOf = async (id: CallId) => {
    const open = await createHoldStore(redis).openHolds(ACCOUNT)
    return open.find(({ callId }) => callId === id)?.amountPico ?? null
  }

  /** Every key of a queue but its events, which nobody reads, and what they are counted by. */
  async function keysOf(queue: string): Promise<Record<string, unknown>> {
    const keys = await redis.keys(callKey(queue, '*'))
    const read: Record<string, unknown> = {}
    for (const key of keys) {
      const name = key.slice(callKey(queue, '').length)
      if (['events', 'id', 'meta', 'pc', 'stalled-check'].includes(name)) continue
      const type = await redis.type(key)
      if (type === 'hash') read[name] = await redis.hgetall(key)
      else if (type === 'list') read[name] = await redis.lrange(key, 0, -1)
      else if (type === 'zset') read[name] = await redis.zrange(key, '0', '-1', 'WITHSCORES')
      else if (type === 'set') read[name] = (await redis.smembers(key)).sort()
      else read[name] = await redis.get(key)
    }
    return read
  }

  const completeByBullMq = (id: CallId) =>
    new Job(bullmq, 'call', {}, { removeOnComplete: true }, id).moveToCompleted(null, jobs.token, false)

  test('takes a call off a long list of claimed ones from the nearer end, and any call wherever it is', async () => {
    const active = callKey('dispatch', 'active')
    const oldest = await claimedCall()
    const others = Array.from({ length: 5_000 }, () => newCallId())
    await redis.lpush(active, ...others)
    const [misplaced, newest] = [await claimedCall(), await claimedCall()]
    // As if an old one had been claimed last.
    await redis.lrem(active, 1, oldest)
    await redis.lpush(active, oldest)
    for (const id of [newest, oldest, misplaced]) {
      expect(await finish(`settle_${id}`, [ended(id)])).toEqual(['finished'])
      expect(await redis.lpos(active, id)).toBeNull()
    }
    expect(await redis.llen(active)).toBe(others.length)
  })

  test('completing jobs leaves the queue as BullMQ does', async () => {
    const ids = [await claimedCall(), await claimedCall(7), await claimedCall()] as const
    await redis.sadd(callKey(DISPATCH_QUEUE, 'stalled'), ...ids)
    await completeByBullMq(ids[0])
    await completeByBullMq(ids[1])
    const theirs = JSON.stringify(await keysOf(DISPATCH_QUEUE))

    await redis.flushall()
    const again = [await claimedCall(), await claimedCall(7), await claimedCall()] as const
    await redis.sadd(callKey(DISPATCH_QUEUE, 'stalled'), ...again)
    await redis.set(callKey(DISPATCH_QUEUE, `${again[2]}:lock`), jobs.token.replace(/^./, 'x'))
    expect(await jobs.complete(again)).toEqual([again[2]])
    await redis.set(callKey(DISPATCH_QUEUE, `${again[2]}:lock`), jobs.token)
    const ours = JSON.stringify(await keysOf(DISPATCH_QUEUE)).replaceAll(again[2], ids[2])
    const untimed = (keys: string) =>
      JSON.parse(keys.replaceAll(/"(timestamp|processedOn)":"\d+"/g, '"$1":"0"'))
    expect(untimed(ours)).toEqual(untimed(theirs))
  })

  test('leaves both queues as BullMQ does when it completes the calls and adds a settlement job', async () => {
    const [one, other] = [await claimedCall(), await claimedCall(7)]
    const records = [one, other].map((id) => ended(id).record)
    for (const id of [one, other]) await completeByBullMq(id)
    const theirJob = await enqueueSettlements(settlement, records)
    const theirs = [await keysOf(DISPATCH_QUEUE), await keysOf(SETTLEMENT_QUEUE)]

    await redis.flushall()
    const again = [await claimedCall(), await claimedCall(7)] as const
    const calls = again.map((id, index) => ended(id, { record: { ...records[index]!, id } }))
    expect(await finish('settle_ours', calls)).toEqual(['finished', 'finished'])
    const ours = [await keysOf(DISPATCH_QUEUE), await keysOf(SETTLEMENT_QUEUE)]
    // What BullMQ does not know: which calls a job settles, and how long it is.
    const { calls: listed, bytes, ...job } = ours[1]!.settle_ours as Record<string, string>
    expect(listed).toBe(again.join())
    expect(Number(bytes)).toBe(job.data!.length)
    expect(ours[1]!.bytes).toBe(bytes)
    ours[1]!.settle_ours = job
    delete ours[1]!.bytes
    /** As if both had the same ids and times. */
    const named = (keys: unknown) =>
      JSON.stringify(keys)
        .replaceAll(theirJob, 'settle_ours')
        .replaceAll(one, again[0])
        .replaceAll(other, again[1])
        .replaceAll(/"timestamp":"\d+"/g, '"timestamp":"0"')
    expect(JSON.parse(named(ours))).toEqual(JSON.parse(named(theirs)))
    expect(named(ours)).toContain('settle_ours')
  })

  test('is a job that BullMQ hands to a settlement worker, also when the queue was paused meanwhile', async () => {
    const id = await claimedCall()
    await settlement.pause()
    await finish('settle_1', [ended(id)])
    const settling = openClaimedJobs(SETTLEMENT_QUEUE, {
      ...{ redis, blocking: redis, lockMs: LOCK_MS, waitSeconds: 1 },
      ...{ logger: pino({ level: 'silent' }), clock: Date.now },
    })
    expect(await settling.claim(1)).toEqual([])
    expect(await settlement.getJobState('settle_1')).toBe('waiting')
    await settlement.resume()
    expect(await redis.exists(callKey(SETTLEMENT_QUEUE, 'marker'))).toBe(1)
    const job = await settlement.getJob('settle_1')
    expect(job?.data.records.map((record) => record.id)).toEqual([id])
    expect(job?.opts.removeOnComplete).toBe(true)
  })

  test('publishes the last frames of a channel as one message, and shrinks each hold to its charge', async () => {
    const ids = [await claimedCall(), await claimedCall()]
    await finish(
      'settle_1',
      ids.map((id) => ended(id)),
    )
    await expect.poll(() => heard).toHaveLength(1)
    expect(heard[0]).toBe(
      encodeFrames(
        'worker-a',
        ids.map((id) => ended(id).last),
      ),
    )
    for (const id of ids) expect(await holdOf(id)).toBe(30n)
  })

  test('finishes nothing that another worker has claimed since, and says nothing to its client', async () => {
    const [lost, kept] = [await claimedCall(), await claimedCall()]
    await redis.hincrby(callKey(DISPATCH_QUEUE, lost), 'ats', 1)
    expect(await finish('settle_1', [ended(lost), ended(kept)])).toEqual(['lost', 'finished'])
    await expect.poll(() => heard).toHaveLength(1)
    expect(heard[0]).not.toContain(lost)
    expect(await holdOf(lost)).toBe(100n)
    expect(await createCallJobs(redis).exists(lost)).toBe(true)
    const job = await settlement.getJob('settle_1')
    expect(job?.data.records.map((record) => record.id)).toEqual([kept])
  })

  test('its settlement job counts in the bytes of the backlog until it is completed', async () => {
    const bytes = async () => Number(await redis.get(callKey(SETTLEMENT_QUEUE, 'bytes')))
    const settling = openClaimedJobs(SETTLEMENT_QUEUE, {
      redis,
      blocking: createRedis({ url: server.url, name: 'test-settling', mode: 'wait' }),
      lockMs: LOCK_MS,
      waitSeconds: 1,
      logger: pino({ level: 'silent' }),
      clock: Date.now,
    })
    await finish('settle_1', [ended(await claimedCall())])
    const ofOne = await bytes()
    await finish('settle_2', [ended(await claimedCall())])
    expect(await bytes()).toBe(2 * ofOne)
    await settling.claim(1)
    await settling.complete(['settle_1'])
    expect(await bytes()).toBe(ofOne)
    // Somebody removed a job: with the last one the count begins anew.
    await redis.incrby(callKey(SETTLEMENT_QUEUE, 'bytes'), 1_000)
    await settling.claim(1)
    await settling.complete(['settle_2'])
    expect(await redis.exists(callKey(SETTLEMENT_QUEUE, 'bytes'))).toBe(0)
    await settling.close()
  })

  test('notes what Redis held where the record of a call says otherwise', async () => {
    const [right, smaller, ended_] = [await claimedCall(), await claimedCall(), await claimedCall()]
    await createHoldStore(redis).endCall({
      accountId: ACCOUNT,
      keyId: 'key_1',
      callId: ended_,
      chargePico: 0n,
    })
    const { record } = ended(smaller)
    await finish('settle_1', [
      ended(right),
      ended(smaller, { record: { ...record, holdPico: '170' } }),
      ended(ended_),
    ])
    const job = await settlement.getJob('settle_1')
    expect(job?.data.records.map(({ redisHoldPico }) => redisHoldPico)).toEqual([undefined, '100', undefined])
  })

  test('finishes nothing of which another worker has a claim with the same number, since Redis forgot the first', async () => {
    const id = await claimedCall()
    await redis.hdel(callKey(DISPATCH_QUEUE, id), 'ats', 'by')
    // An earlier version says by the lock who claimed it.
    for (const [key, field] of [
      [`${id}:lock`, null],
      [id, 'by'],
    ] as const) {
      const name = callKey(DISPATCH_QUEUE, key)
      await (field ? redis.hset(name, field, 'another worker') : redis.set(name, 'another worker'))
      await redis.hset(callKey(DISPATCH_QUEUE, id), 'ats', 1)
      expect(await finish('settle_1', [ended(id)])).toEqual(['lost'])
      await redis.del(callKey(DISPATCH_QUEUE, `${id}:lock`))
    }
    expect(await createCallJobs(redis).exists(id)).toBe(true)
  })

  test('the finish step finishes an unclaimed call whose lock has lapsed, wherever its job is', async () => {
    const id = await claimedCall()
    await redis.del(callKey(DISPATCH_QUEUE, `${id}:lock`))
    await redis.lrem(callKey(DISPATCH_QUEUE, 'active'), 1, id)
    await redis.lpush(callKey(DISPATCH_QUEUE, 'wait'), id)
    expect(await finish('settle_1', [ended(id)])).toEqual(['finished'])
    expect(await redis.llen(callKey(DISPATCH_QUEUE, 'wait'))).toBe(0)
  })

  test('the finish step does nothing without a subscriber, except for calls that need none', async () => {
    await subscriber.unsubscribe(CHANNEL)
    const [answer, failure] = [await claimedCall(), await claimedCall()]
    expect(await finish('settle_1', [ended(answer), ended(failure, { needsSubscriber: false })])).toEqual([
      'no-subscriber',
      'finished',
    ])
    expect(await createCallJobs(redis).exists(answer)).toBe(true)
    expect(await holdOf(answer)).toBe(100n)
    await subscriber.subscribe(CHANNEL)
    expect(await finish('settle_2', [ended(answer)])).toEqual(['finished'])
  })

  test('a step whose answer was lost is answered again as it was, and nothing is done twice', async () => {
    const [done, lost] = [await claimedCall(), await claimedCall()]
    const step = [ended(done), ended(lost, { claim: 7 })]
    expect(await finish('settle_1', step)).toEqual(['finished', 'lost'])
    await settlement.drain()
    expect(await finish('settle_1', step)).toEqual(['finished', 'lost'])
    expect(await settlement.getJobCounts('waiting')).toEqual({ waiting: 0 })
    // The step before the last has nobody who waits for its answer.
    const next = await claimedCall()
    expect(await finish('settle_2', [ended(next)])).toEqual(['finished'])
    expect(await finish('settle_1', step)).toEqual(['gone', 'lost'])
  })

  test('notes ends that were published or must be acknowledged, with their worker, and no others', async () => {
    const [published, here] = [await claimedCall(), await claimedCall()]
    const free = await claimedCall()
    const kept = await claimedCall()
    const keptHere = await claimedCall()
    const freeRecord = settlementOf(ACCOUNT, { id: free, keyId: 'key_1', chargePico: '0', holdPico: '100' })
    await finish('settle_1', [
      ended(published),
      ended(here, { isPublished: false, takenTokens: 0 }),
      ended(free, { record: freeRecord }),
      ended(kept, { needsSubscriber: false }),
      ended(keptHere, { needsSubscriber: false, isPublished: false }),
    ])
    expect(await redis.hgetall(unacknowledgedEndsKey(CHANNEL))).toEqual({
      [published]: '2:1700000000000:worker-a',
      [here]: '0:1700000000000:worker-a',
      [free]: ':1700000000000:worker-a',
      [kept]: ':1700000000000:worker-a',
    })
    expect(await redis.smembers(endingChannels(0))).toEqual([CHANNEL])
    await expect.poll(() => heard).toHaveLength(1)
  })

  test('a call with a reported failure is settled as what was delivered', async () => {
    const [told, other] = [await claimedCall(), await claimedCall()]
    const jobs = createCallJobs(redis)
    const failure = { code: 'all_providers_failed', deliveredChars: 12 } as const
    expect(await jobs.noteFailure(told, failure)).toBe(true)
    // Who told it first knows what was delivered.
    expect(await jobs.noteFailure(told, { code: 'internal_error', deliveredChars: 13 })).toBe(true)
    for (const isPublished of [true, false])
      expect(await finish('settle_1', [ended(told, { isPublished })])).toEqual([failure])
    expect(await finish('settle_1', [ended(told, { needsSubscriber: false }), ended(other)])).toEqual([
      'finished',
      'finished',
    ])
    expect(await jobs.noteFailure(told, failure)).toBe(false)
  })

  test('says nothing to anybody while Redis refuses writes', async () => {
    const ids = [await claimedCall(), await claimedCall()]
    await redis.replicaof('127.0.0.1', 1)
    try {
      const refused = await finish(
        'settle_1',
        ids.map((id) => ended(id)),
      ).catch((error: unknown) => error)
      expect(isRefusedWrite(refused)).toBe(true)
    } finally {
      await redis.replicaof('NO', 'ONE')
    }
    expect(
      await finish(
        'settle_1',
        ids.map((id) => ended(id)),
      ),
    ).toEqual(['finished', 'finished'])
    await expect.poll(() => heard).toHaveLength(1)
  })

  test('finishes what runs also when Redis is out of memory', async () => {
    const id = await claimedCall()
    await redis.config('SET', 'maxmemory', '1')
    try {
      expect(await finish('settle_1', [ended(id)])).toEqual(['finished'])
    } finally {
      await redis.config('SET', 'maxmemory', '0')
    }
    expect(await settlement.getJobState('settle_1')).toBe('waiting')
  })

  test('the finish step is idempotent and settles a call whose job Redis lost when asked to', async () => {
    const id = await claimedCall()
    expect(await finish('settle_1', [ended(id)])).toEqual(['finished'])
    expect(await finish('settle_2', [ended(id)])).toEqual(['gone'])
    expect(await settlement.getWaitingCount()).toBe(1)
    expect(await finish('settle_2', [ended(id, { claim: 'any' })])).toEqual(['finished'])
    expect(await settlement.getWaitingCount()).toBe(2)
  })

  test('takes a revived job off the queue, unless another worker has claimed it', async () => {
    const revived = async () => {
      const id = newCallId()
      await requeueCall(dispatch, jobOf({ id }), LOCK_MS)
      return id
    }
    const [ours, taken] = [await revived(), await revived()]
    await redis.hincrby(callKey(DISPATCH_QUEUE, taken), 'ats', 1)
    const calls = [ours, taken].map((id) => ended(id, { claim: 'revived' }))
    expect(await finish('settle_1', calls)).toEqual(['finished', 'lost'])
    expect(await createCallJobs(redis).exists(ours)).toBe(false)
    expect(await redis.zscore(callKey(DISPATCH_QUEUE, 'delayed'), ours)).toBeNull()
  })
})

describe('the step that claims calls', () => {
  let server: TestRedis
  let redis: Redis
  let dispatch: DispatchQueue
  let jobs: ClaimedJobs<CallJob>
  beforeAll(async () => {
    server = await createTestRedis()
    redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
    dispatch = createDispatchQueue(redis)
    jobs = openClaimedJobs(DISPATCH_QUEUE, {
      redis,
      blocking: createRedis({ url: server.url, name: 'test-wake', mode: 'wait' }),
      lockMs: LOCK_MS,
      waitSeconds: 1,
      logger: pino({ level: 'silent' }),
      clock: Date.now,
    })
  })
  afterAll(async () => {
    await Promise.all([jobs.close(), dispatch.close()])
    redis.disconnect()
    await server.close()
  })

  test('claims many at once, those without a priority first, and wakes others only for what is left', async () => {
    const add = async (priority: number) => {
      const id = newCallId()
      await enqueueCall(dispatch, envelopeOf({ id, ...TIMES }), '', priority)
      return id
    }
    const late = await add(9)
    const soon = await add(1)
    const [first, second] = [await add(0), await add(0)]
    const marker = `${queuePrefix(0)}:${DISPATCH_QUEUE}:marker`
    await jobs.wait()
    const claimed = await jobs.claim(3)
    expect(claimed.map(({ id }) => id)).toEqual([first, second, soon])
    expect(claimed.map(({ attemptsStarted }) => attemptsStarted)).toEqual([1, 1, 1])
    expect(claimed[0]?.data.envelope.id).toBe(first)
    expect(await redis.exists(marker)).toBe(1)
    await jobs.wait()
    expect((await jobs.claim(3)).map(({ id }) => id)).toEqual([late])
    expect(await redis.exists(marker)).toBe(0)
  })

  test('claims nothing of a paused queue', async () => {
    await dispatch.pause()
    const id = newCallId()
    await enqueueCall(dispatch, envelopeOf({ id, ...TIMES }), '', 0)
    expect(await jobs.claim(3)).toEqual([])
    await dispatch.resume()
    expect((await jobs.claim(3)).map((call) => call.id)).toEqual([id])
  })
})
