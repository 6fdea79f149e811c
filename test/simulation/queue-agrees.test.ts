import { Job, Worker } from 'bullmq'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CallEnvelope, CallJob } from '../../src/core/calls/call-job.ts'
import { createCallJobs } from '../../src/platform/queues/call-jobs.ts'
import { type ClaimedJobs, openClaimedJobs } from '../../src/platform/queues/claimed-jobs.ts'
import {
  createDispatchQueue,
  DISPATCH_QUEUE,
  type DispatchQueue,
  enqueueCall,
  requeueCall,
} from '../../src/platform/queues/queues.ts'
import { createRedis, type Redis } from '../../src/platform/redis/redis.ts'
import { admittedKey, queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { createTestRedis, type TestRedis } from '../helpers/services.ts'
import { ModelQueue } from './model-queue.ts'
import type { SeededRandom } from './seeded-random.ts'

const IDS = ['call-0', 'call-1', 'call-2'] as const
/** Nothing runs out by itself: what the test wants to lapse or to come due, it makes so. */
const LONG_MS = 600_000

const id = fc.constantFrom(...IDS)
const priority = fc.constantFrom(0, 1, 7)
const WORKERS = ['worker-a', 'worker-b'] as const
const token = fc.constantFrom(...WORKERS)
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('add' as const), id, priority }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('claim' as const), token }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('complete' as const), id, token }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('lapse' as const), id }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('check stalled' as const) }) },
  fc.record({ do: fc.constant('requeue' as const), id }),
  fc.record({ do: fc.constant('come due' as const), id }),
  fc.record({ do: fc.constant('hand back' as const), id, token }),
  fc.record({ do: fc.constant('extend' as const), ids: fc.subarray([...IDS]), token }),
  fc.record({ do: fc.constant('remove' as const), id }),
  fc.record({ do: fc.constant('withdraw' as const), id }),
  fc.record({ do: fc.constant('remove revived' as const), id }),
  fc.record({ do: fc.constant('reclaim' as const), id, token, number: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant('change delay' as const), id }),
  fc.record({ do: fc.constant('promote' as const), id }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** What a step answers, or the number of BullMQ's refusal. */
async function answerOf(run: () => unknown): Promise<unknown> {
  try {
    return { answer: (await run()) ?? null }
  } catch (error) {
    if (error instanceof Error && 'code' in error && typeof error.code === 'number')
      return { refusal: error.code }
    throw error
  }
}

const claimed = (job: { id?: string; attemptsStarted: number; stalls: number } | null | undefined) =>
  job ? { id: job.id, attemptsStarted: job.attemptsStarted, stalls: job.stalls } : null

const dataOf = (callId: string): CallJob => ({
  envelope: { id: callId } as unknown as CallEnvelope,
  sealedBody: '',
})

describe('the model of the queue answers what BullMQ and our scripts answer', () => {
  let server: TestRedis
  let redis: Redis
  let queue: DispatchQueue
  let worker: Worker<CallJob>
  /** By the tokens of their workers. */
  let jobs: Record<(typeof WORKERS)[number], ClaimedJobs<CallJob>>
  beforeAll(async () => {
    server = await createTestRedis()
    redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
    queue = createDispatchQueue(redis)
    worker = new Worker(DISPATCH_QUEUE, null, { connection: redis, prefix: queuePrefix(0) })
    const open = (token: string) =>
      openClaimedJobs<CallJob>(DISPATCH_QUEUE, {
        redis,
        blocking: createRedis({ url: server.url, name: 'test-wake', mode: 'wait' }),
        lockMs: LONG_MS,
        waitSeconds: 1,
        logger: pino({ level: 'silent' }),
        clock: Date.now,
        token,
      })
    jobs = { 'worker-a': open('worker-a'), 'worker-b': open('worker-b') }
    await worker.waitUntilReady()
  })
  afterAll(async () => {
    await Promise.all([...WORKERS.map((token) => jobs[token].close()), worker.close(true), queue.close()])
    redis.disconnect()
    await server.close()
  })

  const key = (name: string) => `${queuePrefix(0)}:${DISPATCH_QUEUE}:${name}`
  /** A job as somebody knows it who may be the only one that still does. */
  const handle = (callId: string) =>
    new Job<CallJob>(worker, 'call', dataOf(callId), { removeOnComplete: true }, callId)

  async function takeReal(one: Step): Promise<unknown> {
    const callJobs = createCallJobs(redis)
    switch (one.do) {
      case 'add':
        return enqueueCall(queue, dataOf(one.id).envelope, '', one.priority)
      case 'requeue':
        return requeueCall(queue, dataOf(one.id), LONG_MS)
      case 'claim':
        return claimed((await jobs[one.token].claim(1))[0])
      case 'complete':
        return jobs[one.token].complete([one.id])
      case 'lapse':
        return void (await redis.del(key(`${one.id}:lock`)))
      case 'come due':
        return void (await redis.zadd(key('delayed'), 'XX', 1, one.id))
      case 'check stalled':
        await redis.del(key('stalled-check'))
        return void (await (
          worker as unknown as { moveStalledJobsToWait(): Promise<void> }
        ).moveStalledJobsToWait())
      case 'hand back':
        return jobs[one.token].handBack(one.id)
      case 'extend':
        return one.ids.length === 0 ? [] : jobs[one.token].extendLocks(one.ids)
      case 'remove':
        return queue.remove(one.id)
      case 'withdraw':
        return callJobs.withdraw(one.id)
      case 'remove revived':
        return callJobs.dropRequeued(one.id)
      case 'reclaim':
        return callJobs.reclaim(one.id, { token: one.token, number: one.number, lockMs: LONG_MS })
      case 'change delay':
        return void (await handle(one.id).changeDelay(LONG_MS))
      case 'promote':
        return void (await handle(one.id).promote())
    }
  }

  function takeModel(model: ModelQueue<CallJob>, one: Step): unknown {
    switch (one.do) {
      case 'add':
        return model.add(one.id, dataOf(one.id), 0, 'call')
      case 'requeue':
        model.add(one.id, dataOf(one.id), LONG_MS, 'revived')
        return model.state(one.id) === 'delayed'
      case 'claim':
        return claimed(model.claim(one.token, LONG_MS))
      case 'complete':
        return model.completeSome([one.id], one.token)
      case 'lapse':
      case 'come due': {
        const job = model.jobs.get(one.id)
        if (job) Object.assign(job, one.do === 'lapse' ? { lockUntilMs: 0 } : { delayUntilMs: 0 })
        return
      }
      case 'check stalled':
        return model.checkStalled(0)
      case 'hand back':
        return model.handBack(one.id, one.token)
      case 'extend':
        return model.extend(
          one.ids,
          one.ids.map(() => one.token),
          LONG_MS,
        )
      case 'remove':
        return model.remove(one.id)
      case 'withdraw':
        return model.withdraw(one.id, false)
      case 'remove revived':
        return model.withdraw(one.id, true)
      case 'reclaim':
        return model.reclaim(one.id, one.token, one.number, LONG_MS)
      case 'change delay':
        return model.changeDelay(one.id, LONG_MS)
      case 'promote':
        return model.promote(one.id)
    }
  }

  const realState = () =>
    Promise.all(
      IDS.map(async (callId) => ({
        // The model does not tell apart by which of its two lines a job waits.
        state: (await queue.getJobState(callId)).replace('prioritized', 'waiting'),
        exists: await createCallJobs(redis).exists(callId),
        place: await createCallJobs(redis).place(callId),
        lock: await redis.get(key(`${callId}:lock`)),
        claims: Number((await redis.hget(key(callId), 'ats')) ?? 0),
      })),
    )
  const modelState = (model: ModelQueue<CallJob>) =>
    IDS.map((callId) => {
      const job = model.jobs.get(callId)
      const isLocked = job !== undefined && job.lockUntilMs > Date.now()
      return {
        state: model.state(callId),
        exists: job !== undefined,
        place: model.place(callId),
        lock: isLocked ? job.token : null,
        claims: job?.attemptsStarted ?? 0,
      }
    })

  test('for any sequence of steps, with lapsed locks, jobs that are not there and wrong workers', async () => {
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }), async (steps) => {
        await redis.flushall()
        // The model hands out jobs in any order; here it is told which one BullMQ chose.
        let chosen: unknown = null
        const pick = (waiting: ReadonlyArray<{ id: string }>) => waiting.find((job) => job.id === chosen)
        const random = { chance: () => false, pick } as unknown as SeededRandom
        const model = new ModelQueue<CallJob>(Date.now, random)
        for (const one of steps) {
          const real = await answerOf(() => takeReal(one))
          chosen = (real as { answer?: { id?: string } | null }).answer?.id
          expect(await answerOf(() => takeModel(model, one)), one.do).toEqual(real)
          expect(modelState(model), one.do).toEqual(await realState())
          seen.add(`${one.do}: ${JSON.stringify(real).replace(/call-\d/, 'call')}`)
        }
      }),
      { numRuns: 80 },
    )
    // A comparison that never saw the odd cases would prove little.
    expect([...seen]).toEqual(
      expect.arrayContaining([
        'remove: {"answer":0}',
        'remove: {"answer":1}',
        'withdraw: {"answer":"withdrawn"}',
        'withdraw: {"answer":"missing"}',
        'withdraw: {"answer":"claimed"}',
        'withdraw: {"answer":"delayed"}',
        'remove revived: {"answer":"withdrawn"}',
        'reclaim: {"answer":2}',
        'reclaim: {"answer":"lost"}',
        'reclaim: {"answer":"missing"}',
        'complete: {"answer":["call"]}',
        'complete: {"answer":[]}',
        'promote: {"refusal":-3}',
        'claim: {"answer":null}',
      ]),
    )
  })

  test("BullMQ's own remove answers 1 for a job that is not there, and deletes one that runs without a lock", async () => {
    await redis.flushall()
    const callJobs = createCallJobs(redis)
    expect(await queue.remove('call-0')).toBe(1)
    await enqueueCall(queue, dataOf('call-0').envelope, '', 0)
    await jobs['worker-a'].claim(1)
    await redis.del(key('call-0:lock'))
    expect(await callJobs.withdraw('call-0')).toBe('claimed')
    expect(await callJobs.exists('call-0')).toBe(true)
    expect(await queue.remove('call-0')).toBe(1)
    expect(await callJobs.exists('call-0')).toBe(false)
    expect(await callJobs.withdraw('call-0')).toBe('missing')
  })

  test('a call without a job was finished if it was enqueued a moment ago, and forgotten if nothing is known of it', async () => {
    await redis.flushall()
    const reclaim = () => createCallJobs(redis).reclaim('call-0', { token: 'a', number: 1, lockMs: LONG_MS })
    expect(await reclaim()).toBe('missing')
    await redis.set(admittedKey('call-0', 0), '1')
    expect(await reclaim()).toBe('lost')
  })

  test('a slot reserved for quiet accounts takes no call beyond a share', async () => {
    await redis.flushall()
    await enqueueCall(queue, dataOf('call-0').envelope, '', 7)
    expect(await jobs['worker-a'].claim(2, 'within-share')).toEqual([])
    await enqueueCall(queue, dataOf('call-1').envelope, '', 0)
    expect(await jobs['worker-a'].claim(2, 'within-share')).toMatchObject([{ id: 'call-1' }])
    expect(await jobs['worker-a'].claim(2, 'any')).toMatchObject([{ id: 'call-0' }])
  })
})
