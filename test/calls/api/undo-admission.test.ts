import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createHoldStore, type HoldStore } from '../../../src/billing/holds/hold-store.ts'
import type { CallHub } from '../../../src/calls/api/call-hub.ts'
import { type DispatchDependencies, undoAdmission } from '../../../src/calls/api/enqueue-and-wait.ts'
import type { CallJob } from '../../../src/core/calls/call-job.ts'
import type { ControlMessage } from '../../../src/core/calls/frames.ts'
import { newId } from '../../../src/core/kernel/ids.ts'
import { createCallJobs } from '../../../src/platform/queues/call-jobs.ts'
import { type ClaimedJobs, openClaimedJobs } from '../../../src/platform/queues/claimed-jobs.ts'
import {
  createSettlementQueue,
  DISPATCH_QUEUE,
  type SettlementQueue,
} from '../../../src/platform/queues/queues.ts'
import { createRedis, type Redis } from '../../../src/platform/redis/redis.ts'
import { queuePrefix } from '../../../src/platform/redis/redis-keys.ts'
import { envelopeOf } from '../../helpers/call-shapes.ts'
import { admissionOf } from '../../helpers/open-hold.ts'
import { createTestRedis, type TestRedis } from '../../helpers/services.ts'
import { stubOf } from '../../helpers/stub-of.ts'

/* A call was refused since Redis did not answer in time, and was admitted and enqueued all the same, or was not. */
const KEPT = async () => true

describe('taking back a call whose admission is uncertain', () => {
  let server: TestRedis
  let redis: Redis
  let holds: HoldStore
  let jobs: ClaimedJobs<CallJob>
  let settlements: SettlementQueue
  let told: Array<ControlMessage & { worker: string }>
  let nowMs: number
  let deps: DispatchDependencies

  beforeAll(async () => {
    server = await createTestRedis()
    const open = (name: string) => createRedis({ url: server.url, name, mode: 'wait' })
    redis = open('test')
    holds = createHoldStore(redis)
    settlements = createSettlementQueue(redis)
    jobs = openClaimedJobs<CallJob>(DISPATCH_QUEUE, {
      redis,
      blocking: open('test-wake'),
      lockMs: 60_000,
      waitSeconds: 1,
      logger: pino({ level: 'silent' }),
      clock: Date.now,
    })
    deps = stubOf<DispatchDependencies>({
      hub: stubOf<CallHub>({ tellWorker: (worker, message) => void told.push({ worker, ...message }) }),
      callJobs: createCallJobs(redis),
      settlementQueue: settlements,
      holds,
      clock: () => nowMs,
    })
  })
  beforeEach(async () => {
    await redis.flushall()
    told = []
    nowMs = Date.now()
  })
  afterAll(async () => {
    await Promise.all([jobs.close(), settlements.close()])
    redis.disconnect()
    await server.close()
  })

  function call() {
    const accountId = newId('acct')
    return { accountId, envelope: envelopeOf({ accountId, holdPico: '100', admittedAt: nowMs }) }
  }

  async function admitted() {
    const { accountId, envelope } = call()
    await holds.load(accountId, { balancePico: 1_000n, version: 1n })
    const request = admissionOf(accountId, {
      callId: envelope.id,
      keyId: envelope.keyId,
      job: {
        data: JSON.stringify({ envelope, sealedBody: 'sealed' }),
        turn: { share: 8, step: 1, lastStep: 2 },
        nowMs,
      },
    })
    expect(await holds.admit(request)).toMatchObject({ kind: 'admitted', isEnqueued: true })
    return { accountId, envelope }
  }

  const settled = async () => (await settlements.getWaiting()).flatMap((job) => job.data.records)

  test('one that waits for its first claim leaves the queue, gets its hold back and leaves no record', async () => {
    const { accountId, envelope } = await admitted()
    await undoAdmission(envelope, KEPT, deps)
    expect(await createCallJobs(redis).exists(envelope.id)).toBe(false)
    expect(await holds.balance(accountId)).toMatchObject({ availPico: 1_000n, heldPico: 0n })
    expect(await settled()).toEqual([])
  })

  test('a call taken back while a worker runs it is cancelled, keeps its hold and is noted as failed', async () => {
    const { accountId, envelope } = await admitted()
    await jobs.claim(1)
    await undoAdmission(envelope, KEPT, deps)
    expect(told).toMatchObject([
      { worker: jobs.token, kind: 'cancel', callId: envelope.id, ending: { by: 'gateway' } },
    ])
    const job = `${queuePrefix(0)}:${DISPATCH_QUEUE}:${envelope.id}`
    expect(JSON.parse((await redis.hget(job, 'told'))!)).toEqual({ code: 'overloaded', deliveredChars: 0 })
    expect(await settled()).toEqual([])
    expect(await holds.balance(accountId)).toMatchObject({ heldPico: 100n })
  })

  test('one that was served meanwhile has such a record beside its own', async () => {
    const { envelope } = await admitted()
    await jobs.complete((await jobs.claim(1)).map(({ id }) => id))
    await undoAdmission(envelope, KEPT, deps)
    expect(await settled()).toMatchObject([{ id: envelope.id, status: 'failed', chargePico: '0' }])
  })

  test('one that was never admitted leaves nothing', async () => {
    const { envelope } = call()
    await undoAdmission(envelope, KEPT, deps)
    expect(await settled()).toEqual([])
  })

  test('one of which Redis may have forgotten that it was admitted has such a record', async () => {
    const { envelope } = call()
    nowMs += 60_000
    await undoAdmission(envelope, KEPT, deps)
    expect(await settled()).toMatchObject([{ id: envelope.id, status: 'failed' }])
  })

  test('one that was admitted by a Redis that lost its data since has such a record', async () => {
    const { envelope } = await admitted()
    await jobs.claim(1)
    await redis.flushall()
    await undoAdmission(envelope, async () => false, deps)
    expect(await settled()).toMatchObject([{ id: envelope.id, status: 'failed' }])
  })
})
