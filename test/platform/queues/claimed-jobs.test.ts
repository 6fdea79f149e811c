import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { CallEnvelope, CallJob } from '../../../src/core/calls/call-job.ts'
import { type ClaimedJobs, openClaimedJobs } from '../../../src/platform/queues/claimed-jobs.ts'
import {
  createDispatchQueue,
  DISPATCH_QUEUE,
  type DispatchQueue,
  enqueueCall,
} from '../../../src/platform/queues/queues.ts'
import { createRedis, type Redis } from '../../../src/platform/redis/redis.ts'
import { createTestRedis, type TestRedis } from '../../helpers/services.ts'

const WAIT_SECONDS = 2

describe('a wait that claims what comes', () => {
  let server: TestRedis
  let redis: Redis
  let blocking: Redis
  let queue: DispatchQueue
  let jobs: ClaimedJobs<CallJob>
  const enqueue = (id: string) => enqueueCall(queue, { id } as unknown as CallEnvelope, '', 0)

  beforeEach(async () => {
    server = await createTestRedis()
    redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
    blocking = createRedis({ url: server.url, name: 'test-wake', mode: 'wait' })
    queue = createDispatchQueue(redis)
    jobs = openClaimedJobs(DISPATCH_QUEUE, {
      redis,
      blocking,
      lockMs: 30_000,
      waitSeconds: WAIT_SECONDS,
      logger: pino({ level: 'silent' }),
      clock: Date.now,
    })
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

  test('claims also after Redis forgot its scripts', async () => {
    await enqueue('call-1')
    expect(await jobs.waitAndClaim()).toMatchObject({ job: { id: 'call-1' } })
    await redis.script('FLUSH')
    await enqueue('call-2')
    expect(await jobs.waitAndClaim()).toMatchObject({ job: { id: 'call-2' } })
  })
})
