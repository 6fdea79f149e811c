import { DatabaseError } from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createHoldStore, type HoldStore } from '../../src/billing/holds/hold-store.ts'
import { createBillingMetrics } from '../../src/billing/reports/billing-metrics.ts'
import { createSettlementStore, type SettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import type { SettlementRecord } from '../../src/core/calls/call-job.ts'
import { newId } from '../../src/core/kernel/ids.ts'
import { createPostgres } from '../../src/platform/postgres/postgres.ts'
import { type ClaimedJob, openClaimedJobs } from '../../src/platform/queues/claimed-jobs.ts'
import {
  createSettlementQueue,
  enqueueSettlement,
  enqueueSettlements,
  SETTLEMENT_QUEUE,
  type SettlementJob,
  type SettlementQueue,
} from '../../src/platform/queues/queues.ts'
import { isRunning, runOnFewProcesses } from '../../src/platform/redis/fleet-job.ts'
import { createRedis, type Redis } from '../../src/platform/redis/redis.ts'
import {
  type SettlementWorker,
  type SettlementWorkerOptions,
  startSettlementWorker,
} from '../../workers/settlement-worker.ts'
import { openTestAccount, openTestLedger, settlementOf, type TestLedger } from '../helpers/billing.ts'
import { eventually, onBusyMachine } from '../helpers/eventually.ts'
import { openHold } from '../helpers/open-hold.ts'
import { createTestRedis, type TestRedis } from '../helpers/services.ts'

const LOCK_MS = 2_000

const databaseError = (code: string, message: string): DatabaseError =>
  Object.assign(new DatabaseError(message, message.length, 'error'), { code })

describe('the settlement worker', () => {
  let ledger: TestLedger
  let server: TestRedis
  let redis: Redis
  let queue: SettlementQueue
  let holds: HoldStore
  let store: SettlementStore
  const workers: Array<{ worker: SettlementWorker; connection: Redis }> = []

  beforeAll(async () => {
    ledger = await openTestLedger()
    server = await createTestRedis()
    redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
    holds = createHoldStore(redis)
    store = createSettlementStore(ledger.postgres)
  })
  beforeEach(() => {
    queue = createSettlementQueue(redis)
  })
  afterEach(async () => {
    for (const { worker, connection } of workers.splice(0)) {
      await worker.stop()
      connection.disconnect()
    }
    await queue.obliterate({ force: true })
    await queue.close()
  })
  afterAll(async () => {
    redis.disconnect()
    await server.close()
    await ledger.close()
  })

  const start = (options: Partial<SettlementWorkerOptions> = {}) => {
    const open = (name: string) => createRedis({ url: server.url, name, mode: 'wait' })
    const connection = open('test-settlement')
    const logger = pino({ level: 'silent' })
    const metrics = createBillingMetrics(new Registry())
    const worker = startSettlementWorker({
      jobs: openClaimedJobs(SETTLEMENT_QUEUE, {
        redis: connection,
        blocking: open('test-settlement-wake'),
        lockMs: options.jobLockMs ?? LOCK_MS,
        waitSeconds: 1,
        logger,
        clock: Date.now,
      }),
      store,
      holds,
      logger,
      metrics,
      report: { finished: () => undefined },
      settlementBatchMax: 50,
      jobLockMs: LOCK_MS,
      ...options,
    })
    workers.push({ worker, connection })
    return worker
  }
  const jobsLeft = () => queue.getJobCountByTypes('waiting', 'active', 'delayed', 'failed', 'completed')
  const allSettled = () => eventually(async () => expect(await jobsLeft()).toBe(0))

  /** An account with open holds for calls that are about to settle, 50 pico-USD charged of 100 held each. */
  const heldCalls = async (count: number) => {
    const account = await openTestAccount(ledger.postgres, 1_000_000n)
    await holds.load(account, { balancePico: 1_000_000n, version: 1n })
    const calls = Array.from({ length: count }, () => settlementOf(account))
    for (const call of calls) await openHold(redis, account, call.id, 100n)
    return { account, calls }
  }
  const sound = async (account: string, charged: bigint) => {
    const balance = 1_000_000n - charged
    const row = await ledger.postgres.account.findUniqueOrThrow({ where: { id: account } })
    expect(row.balancePico).toBe(balance)
    expect(await holds.balance(account)).toEqual({ availPico: balance, heldPico: 0n, version: row.version })
  }

  test('charges every call, releases every hold and leaves no job', async () => {
    const { account, calls } = await heldCalls(120)
    const report = { finished: vi.fn() }
    start({ report })
    for (const call of calls) await enqueueSettlement(queue, call)
    await allSettled()
    await sound(account, 6_000n)
    const counted = report.finished.mock.calls.map(([outcome, count]) =>
      outcome === 'settled' ? count : NaN,
    )
    expect(counted.reduce((sum, count) => sum + count, 0)).toBe(120)
  })

  test('settles what waited in few batches, none above the maximum', async () => {
    const { account, calls } = await heldCalls(120)
    await Promise.all(calls.map((call) => enqueueSettlement(queue, call)))
    const settle = vi.fn(store.settle)
    start({ store: { settle } })
    await allSettled()
    const sizes = settle.mock.calls.map(([records]) => records.length)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(50)
    expect(sizes.length).toBeLessThan(12)
    await sound(account, 6_000n)
  })

  test('counts calls, not jobs: no transaction takes more calls than the maximum', async () => {
    const { account, calls } = await heldCalls(200)
    for (let start = 0; start < calls.length; start += 20)
      await enqueueSettlements(queue, calls.slice(start, start + 20))
    const settle = vi.fn(store.settle)
    start({ store: { settle } })
    await allSettled()
    const sizes = settle.mock.calls.map(([records]) => records.length)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(50)
    expect(sizes.length).toBeLessThanOrEqual(8)
    await sound(account, 10_000n)
  })

  test.each<[string, (record: SettlementRecord) => unknown]>([
    ['no records', () => ({})],
    ['records that are no list', () => ({ records: 7 })],
    ['a record without an id', ({ id: _, ...record }) => ({ records: [record] })],
    ['a record whose id cannot be stored', (record) => ({ records: [{ ...record, id: 'a\0b' }] })],
    ['a record that is nothing', () => ({ records: [null] })],
  ])('quarantines a job with %s, and settles the others', async (_, dataOf) => {
    const { account, calls } = await heldCalls(3)
    const before = await ledger.postgres.quarantinedSettlement.count()
    await enqueueSettlement(queue, calls[0]!)
    await queue.add('settle', dataOf(calls[1]!) as SettlementJob, { removeOnComplete: true })
    await enqueueSettlement(queue, calls[2]!)
    start()
    await allSettled()
    const row = await ledger.postgres.account.findUniqueOrThrow({ where: { id: account } })
    expect(row.balancePico).toBe(999_900n)
    const kept = await ledger.postgres.quarantinedSettlement.findMany({ orderBy: { createdAt: 'desc' } })
    expect(kept).toHaveLength(before + 1)
    expect(kept[0]).toMatchObject({
      id: expect.stringMatching(/^unnamed_/),
      reason: expect.stringMatching(/malformed/),
    })
  })

  test('keeps its jobs while PostgreSQL is away, and settles them when it is back', async () => {
    const { account, calls } = await heldCalls(3)
    let failures = 0
    const settle: SettlementStore['settle'] = (records) => {
      if (failures < 3) {
        failures += 1
        return Promise.reject(new Error('postgres is away'))
      }
      return store.settle(records)
    }
    start({ store: { settle } })
    for (const call of calls) await enqueueSettlement(queue, call)
    await allSettled()
    expect(failures).toBe(3)
    await sound(account, 150n)
  })

  test('a batch that is too slow is tried again with half as many calls, and the next ones with more', async () => {
    const { account, calls } = await heldCalls(120)
    await enqueueSettlements(queue, calls)
    const settle = vi.fn<SettlementStore['settle']>((records) =>
      records.length > 13
        ? Promise.reject(databaseError('57014', 'canceling statement due to statement timeout'))
        : store.settle(records),
    )
    start({ store: { settle } })
    await allSettled()
    await sound(account, 6_000n)
    const sizes = settle.mock.calls.map(([records]) => records.length)
    expect(sizes.slice(0, 5)).toEqual([50, 25, 13, 26, 13])
  })

  test("the calls of an account that is locked wait, and no other account's with them", async () => {
    const [locked, free] = [await heldCalls(20), await heldCalls(20)]
    const postgres = createPostgres({ databaseUrl: ledger.url, name: 'test-settlement', lockTimeoutMs: 50 })
    await enqueueSettlements(
      queue,
      locked.calls.flatMap((call, index) => [call, free.calls[index]!]),
    )
    await ledger.postgres.$transaction(
      async (transaction) => {
        await transaction.$queryRaw`SELECT id FROM accounts WHERE id = ${locked.account} FOR UPDATE`
        start({ store: createSettlementStore(postgres) })
        await eventually(() => sound(free.account, 1_000n))
        expect(await holds.balance(locked.account)).toMatchObject({ heldPico: 2_000n })
      },
      { timeout: 60_000 },
    )
    await allSettled()
    await sound(locked.account, 1_000n)
    await postgres.$disconnect()
  })

  test('a failure after the commit settles again and changes nothing', async () => {
    const { account, calls } = await heldCalls(3)
    const settle = vi.fn<SettlementStore['settle']>(async (records) => {
      const outcome = await store.settle(records)
      if (settle.mock.calls.length === 1) throw new Error('the answer was lost')
      return outcome
    })
    start({ store: { settle } })
    for (const call of calls) await enqueueSettlement(queue, call)
    await allSettled()
    await sound(account, 150n)
  })

  test('a settlement worker that stops while PostgreSQL is unavailable returns its jobs', async () => {
    const { account, calls } = await heldCalls(3)
    for (const call of calls) await enqueueSettlement(queue, call)
    const settle = vi.fn(() => Promise.reject(new Error('postgres is away')))
    const worker = start({ store: { settle } })
    await eventually(() => expect(settle).toHaveBeenCalled())
    await worker.stop()
    workers.pop()?.connection.disconnect()
    expect(await queue.getWaitingCount()).toBe(3)
    start()
    await allSettled()
    await sound(account, 150n)
  })

  test('jobs of a worker that died are settled by another', async () => {
    const { account, calls } = await heldCalls(3)
    for (const call of calls) await enqueueSettlement(queue, call)
    const died = Promise.withResolvers<never>()
    const settle = vi.fn(() => died.promise)
    const stuck = start({ store: { settle }, jobLockMs: 1_000 })
    await eventually(() => expect(settle).toHaveBeenCalled())
    // Without its connection it renews no lock: to the queue it is dead.
    workers[0]?.connection.disconnect()
    start({ jobLockMs: 1_000 })
    await allSettled()
    await sound(account, 150n)
    workers.shift()
    died.reject(new Error('dead'))
    await stuck.stop().catch(() => undefined)
  })

  describe('of which a few are elected', () => {
    const SETTLERS = 2
    const STANDBY_MS = 50
    const LOST_AFTER_MS = 600

    /** Workers that stand for election, and how many transactions each made. */
    const fleet = (size: number, processes = SETTLERS, cutOff?: number) => {
      const batches = Array.from({ length: size }, () => 0)
      const started = batches.map((_, index) => {
        const settle: SettlementStore['settle'] = async (records) => {
          if (index === cutOff)
            throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
          batches[index]! += 1
          return store.settle(records)
        }
        return start({
          store: { settle },
          elected: (run) =>
            runOnFewProcesses({
              ...{ redis, name: 'test-settlers', processes, standsBackMs: 20 * STANDBY_MS },
              ...{ everyMs: STANDBY_MS, lockMs: LOST_AFTER_MS, run, onFailure: () => undefined },
            }),
        })
      })
      return {
        batches,
        started,
        settlers: () => batches.flatMap((count, index) => (count > 0 ? [index] : [])),
      }
    }

    test('these settle in few transactions, however many others there are', async () => {
      const { account, calls } = await heldCalls(100)
      const { batches, settlers } = fleet(8)
      const startedAt = performance.now()
      for (const call of calls) {
        await enqueueSettlement(queue, call)
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      await allSettled()
      const seconds = (performance.now() - startedAt) / 1_000
      expect(settlers().length).toBeLessThanOrEqual(SETTLERS)
      // Each makes four in a second, and one more at the start and at the end.
      expect(batches.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(SETTLERS * (4 * seconds + 2))
      await sound(account, 5_000n)
    })

    test('one that cannot reach PostgreSQL gives its jobs and its place to those that can', async () => {
      const { account, calls } = await heldCalls(20)
      const [first] = fleet(1, 1, 0).started
      await eventually(async () => expect(await isRunning(redis, 'test-settlers')).toBe(true))
      for (const call of calls) await enqueueSettlement(queue, call)
      // Claimed by the one that cannot settle them, and renews its locks.
      await eventually(async () => expect(await queue.getActiveCount()).toBe(20))
      const { settlers } = fleet(3, 1)
      await allSettled()
      await sound(account, 1_000n)
      expect(settlers()).toHaveLength(1)
      await first!.stop()
    })

    test('another takes the place of one that stops, and every call is settled once', async () => {
      const { account, calls } = await heldCalls(40)
      const { started, settlers } = fleet(4)
      for (const call of calls.slice(0, 20)) await enqueueSettlement(queue, call)
      await allSettled()
      const first = settlers()
      for (const index of first) await started[index]!.stop()
      for (const call of calls.slice(20)) await enqueueSettlement(queue, call)
      await allSettled()
      expect(settlers().length).toBeGreaterThan(first.length)
      await sound(account, 2_000n)
    })
  })

  test('an idle worker stops at once', async () => {
    const worker = start()
    await queue.waitUntilReady()
    const { calls } = await heldCalls(1)
    await enqueueSettlement(queue, calls[0] as ReturnType<typeof settlementOf>)
    await allSettled()
    const startedAt = performance.now()
    await worker.stop()
    workers.pop()?.connection.disconnect()
    expect(performance.now() - startedAt).toBeLessThan(onBusyMachine(2_000))
  })

  test('a refused settlement leaves the queue, is quarantined, and keeps its hold', async () => {
    const { account, calls } = await heldCalls(2)
    const [good, other] = calls as [ReturnType<typeof settlementOf>, ReturnType<typeof settlementOf>]
    const bad = { ...other, chargePico: '101' }
    start()
    await enqueueSettlement(queue, bad)
    await enqueueSettlement(queue, good)
    await allSettled()
    expect(await holds.openHolds(account)).toMatchObject([
      { callId: bad.id, amountPico: 100n, keyId: 'key_test' },
    ])
    expect(await holds.balance(account)).toMatchObject({ availPico: 1_000_000n - 50n - 100n, heldPico: 100n })
  })
})

describe('the pace of settlement', () => {
  const BATCH_MAX = 4
  const PACE_MS = 100

  const aJob = (): ClaimedJob<SettlementJob> => ({
    id: newId('settle'),
    data: { records: [settlementOf('acct_1')] },
    attemptsStarted: 1,
    stalls: 0,
  })

  /** Settles what waits from a queue without a server; resolves to the time that took, when all is settled. */
  async function drain(waiting: number, arrivals: () => number): Promise<number> {
    const idle = Promise.withResolvers<void>()
    const isSettled = Promise.withResolvers<void>()
    let jobsLeft = waiting
    const worker = startSettlementWorker({
      jobs: {
        token: 'worker',
        start: async () => undefined,
        async claim(most) {
          const count = Math.min(most, jobsLeft)
          jobsLeft -= count
          return Array.from({ length: count }, aJob)
        },
        async wait() {
          if (jobsLeft > 0) return
          isSettled.resolve()
          await idle.promise
        },
        async complete() {
          jobsLeft += arrivals()
          return []
        },
        waitAndClaim: async () => ({ job: null, isMore: false }),
        handBack: async () => undefined,
        extendLocks: async () => [],
        wake: () => undefined,
        stopWaiting: () => idle.resolve(),
        close: async () => undefined,
      },
      store: { settle: async () => ({ accounts: [], quarantined: [], superseded: [], credited: [] }) },
      holds: {} as HoldStore,
      logger: pino({ level: 'silent' }),
      metrics: createBillingMetrics(new Registry()),
      report: { finished: () => undefined },
      settlementBatchMax: BATCH_MAX,
      jobLockMs: 1_000,
    })
    const startedAt = performance.now()
    await isSettled.promise
    await worker.stop()
    return performance.now() - startedAt
  }

  test('the pace is not applied while jobs wait', async () => {
    expect(await drain(50 * BATCH_MAX, () => 0)).toBeLessThan(25 * PACE_MS)
  })

  test('is not applied while jobs come faster than they are settled', async () => {
    let arrivals = 50
    expect(await drain(1, () => (arrivals-- > 0 ? BATCH_MAX : 0))).toBeLessThan(25 * PACE_MS)
  })

  test('gives every transaction a tenth of a second while the queue is empty', async () => {
    let arrivals = 3
    expect(await drain(2, () => (arrivals-- > 0 ? 1 : 0))).toBeGreaterThan(2.9 * PACE_MS)
  })
})
