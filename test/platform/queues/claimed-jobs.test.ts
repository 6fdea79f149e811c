import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { CallEnvelope, CallJob } from '../../../src/core/calls/call-job.ts'
import { type QueueLane, queuePriority, queueTurn } from '../../../src/core/calls/fair-queue.ts'
import { createCallJobs } from '../../../src/platform/queues/call-jobs.ts'
import {
  type ClaimedJobs,
  type ClaimKind,
  openClaimedJobs,
} from '../../../src/platform/queues/claimed-jobs.ts'
import {
  createDispatchQueue,
  DISPATCH_QUEUE,
  type DispatchQueue,
  enqueueCall,
  requeueCall,
} from '../../../src/platform/queues/queues.ts'
import { createRedis, type Redis } from '../../../src/platform/redis/redis.ts'
import { queuePrefix } from '../../../src/platform/redis/redis-keys.ts'
import { createSealer } from '../../../src/platform/sealing.ts'
import { createTestRedis, type TestRedis } from '../../helpers/services.ts'

const WAIT_SECONDS = 2
const TURNS = { accountQueueShare: 8, queueWaitMs: 15_000, flexWaitMs: 600_000 }

describe('a wait that claims what comes', () => {
  let server: TestRedis
  let redis: Redis
  let blocking: Redis
  let queue: DispatchQueue
  let jobs: ClaimedJobs<CallJob>
  const enqueue = (id: string, priority = 0) =>
    enqueueCall(queue, { id } as unknown as CallEnvelope, '', priority)

  beforeEach(async () => {
    server = await createTestRedis()
    redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
    blocking = createRedis({ url: server.url, name: 'test-wake', mode: 'wait' })
    queue = createDispatchQueue(redis)
    jobs = opened({ lockMs: 30_000, waitSeconds: WAIT_SECONDS })
  })
  const opened = (times: { lockMs: number; waitSeconds: number }) =>
    openClaimedJobs<CallJob>(DISPATCH_QUEUE, {
      ...{ redis, blocking, logger: pino({ level: 'silent' }), clock: Date.now, ...times },
    })
  afterEach(async () => {
    await jobs.close()
    await queue.close()
    redis.disconnect()
    await server.close()
  })

  test('claims a job that comes while it waits, with the time of its claim', async () => {
    const claiming = jobs.waitAndClaim()
    await delay(300)
    const cameAt = Date.now()
    await enqueue('call-1')
    const job = expect.objectContaining({ id: 'call-1', attemptsStarted: 1 })
    expect(await claiming).toEqual({ job, isMore: false })
    expect((await queue.getJob('call-1'))?.processedOn).toBeGreaterThanOrEqual(cameAt)
  })

  test('of some kinds leaves others where they are, each in its order', async () => {
    const turn = (openCalls: number, lane?: QueueLane) =>
      queuePriority(openCalls, queueTurn(Date.now(), TURNS, lane))
    await enqueue('flex', turn(1, 'flex'))
    await enqueue('late', turn(200))
    await enqueue('next', turn(20))
    await enqueue('quiet', turn(1))
    const ids = async (kind: ClaimKind) => (await jobs.claim(10, kind)).map(({ id }) => id)
    expect(await ids('within-share')).toEqual(['quiet'])
    expect(await ids('default')).toEqual(['next', 'late'])
    expect(await ids('default')).toEqual([])
    expect(await ids('any')).toEqual(['flex'])
  })

  test('claims one of those that wait already at once, and says that there are more', async () => {
    for (const id of ['call-1', 'call-2']) await enqueue(id)
    expect(await jobs.waitAndClaim()).toMatchObject({ job: { id: 'call-1' }, isMore: true })
    expect(await jobs.waitAndClaim()).toMatchObject({ job: { id: 'call-2' }, isMore: false })
  })

  test('ends without a job when its time is over, and early when it is woken', async () => {
    const startedAt = performance.now()
    expect(await jobs.waitAndClaim()).toEqual({ job: null, isMore: false })
    expect(performance.now() - startedAt).toBeGreaterThan(WAIT_SECONDS * 900)

    const claiming = jobs.waitAndClaim()
    await delay(100)
    const wokenAt = performance.now()
    jobs.wake()
    expect(await claiming).toEqual({ job: null, isMore: false })
    expect(performance.now() - wokenAt).toBeLessThan(WAIT_SECONDS * 500)
  })

  test('ends before the lock of a job that was claimed earlier does, whatever its time', async () => {
    const claims = opened({ lockMs: 500, waitSeconds: 3_600 })
    onTestFinished(() => claims.close())
    expect(await claims.waitAndClaim()).toEqual({ job: null, isMore: false })
  })

  test('claims also after Redis forgot its scripts', async () => {
    await enqueue('call-1')
    expect(await jobs.waitAndClaim()).toMatchObject({ job: { id: 'call-1' } })
    await redis.script('FLUSH')
    await enqueue('call-2')
    expect(await jobs.waitAndClaim()).toMatchObject({ job: { id: 'call-2' } })
  })

  describe('of a call whose body is bytes', () => {
    const BODY = Buffer.from([0, 255, 13, 10, 0xc3, 0x28, 0x22])
    const envelope = (id: string) => ({ id }) as unknown as CallEnvelope
    const enqueueBytes = (id: string, priority = 0) =>
      createCallJobs(redis).enqueue(envelope(id), BODY, priority)

    test('has them unchanged, whichever way it is claimed', async () => {
      for (const id of ['call-1', 'call-2', 'call-3']) await enqueueBytes(id)
      const data = { envelope: expect.anything() }
      expect((await jobs.waitAndClaim()).job).toMatchObject({ id: 'call-1', data, body: BODY })
      expect(await jobs.claim(1)).toMatchObject([{ id: 'call-2', data, body: BODY }])
      // BullMQ claims instead where a delayed job is due.
      await requeueCall(queue, { envelope: envelope('call-4'), sealedBody: '' }, 1)
      await delay(20)
      expect(await jobs.claim(1)).toMatchObject([{ id: 'call-3', data, body: BODY }])
    })

    test('is enqueued once, as BullMQ enqueues a job, with and without a priority', async () => {
      const key = (name: string) => `${queuePrefix(0)}:${DISPATCH_QUEUE}:${name}`
      const stored = async () => {
        const fields = await Promise.all(['call-1', 'call-2'].map((id) => redis.hgetall(key(id))))
        return {
          jobs: fields.map(({ body: _, data: __, timestamp: ___, opts, ...more }) => ({
            ...more,
            opts: JSON.parse(opts!),
          })),
          waiting: await redis.lrange(key('wait'), 0, -1),
          prioritized: await redis.zrange(key('prioritized'), '0', '-1', 'WITHSCORES'),
          marker: await redis.exists(key('marker')),
        }
      }
      for (const [id, priority] of [
        ['call-1', 0],
        ['call-2', 3],
        ['call-1', 0],
      ] as const)
        await enqueueBytes(id, priority)
      const ours = await stored()
      await redis.flushall()
      for (const [id, priority] of [
        ['call-1', 0],
        ['call-2', 3],
      ] as const)
        await enqueueCall(queue, envelope(id), '', priority)
      expect(ours).toEqual(await stored())
    })

    test('keeps its body when Redis lost the job and its worker puts another in its place', async () => {
      const sealer = createSealer([Buffer.alloc(32, 1)], 'call-body')
      const sealedBody = sealer.sealBytes('what the client sent', 'call-1')
      await requeueCall(queue, { envelope: envelope('call-1'), sealedBody }, 1)
      await delay(20)
      const [job] = await jobs.claim(1)
      expect(sealer.open(job!.data.sealedBody as string, 'call-1')).toBe('what the client sent')
    })
  })
})
