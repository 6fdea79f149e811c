import { pino } from 'pino'
import { Registry } from 'prom-client'
import { ulid } from 'ulid'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createHoldStore } from '../../src/billing/holds/hold-store.ts'
import { createBalanceStore } from '../../src/billing/ledger/balance-store.ts'
import { postLedger } from '../../src/billing/ledger/ledger-store.ts'
import { createBillingMetrics } from '../../src/billing/reports/billing-metrics.ts'
import { createMaintenance, type MaintenanceOptions } from '../../src/billing/run-maintenance.ts'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import { creditPosting } from '../../src/core/billing/postings.ts'
import { type CallId, newId } from '../../src/core/kernel/ids.ts'
import { picoUsd } from '../../src/core/kernel/money.ts'
import { createCallJobs, createFindQueuedCalls } from '../../src/platform/queues/call-jobs.ts'
import {
  createDispatchQueue,
  createSettlementQueue,
  type DispatchQueue,
  enqueueSettlement,
  type SettlementQueue,
} from '../../src/platform/queues/queues.ts'
import type { Redis } from '../../src/platform/redis/redis.ts'
import { accountKeys } from '../../src/platform/redis/redis-keys.ts'
import { openTestAccount, settlementOf } from '../helpers/billing.ts'
import { openHold } from '../helpers/open-hold.ts'
import { testLedger, testRedis } from '../helpers/resources.ts'

const MINUTE_MS = 60_000
const OPENING_PICO = 1_000n

describe('maintenance', () => {
  let redis: Redis
  let dispatchQueue: DispatchQueue
  let settlementQueue: SettlementQueue
  let options: MaintenanceOptions

  const ledger = testLedger()
  const server = testRedis()
  beforeAll(() => {
    redis = server.connect()
    dispatchQueue = createDispatchQueue(redis)
    settlementQueue = createSettlementQueue(redis)
    options = {
      ...{ shard: 0, redis },
      findQueued: createFindQueuedCalls([{ callJobs: createCallJobs(redis), settlement: settlementQueue }]),
      postgres: ledger.postgres,
      settlements: createSettlementStore(ledger.postgres),
      holds: createHoldStore(redis),
      balances: createBalanceStore(ledger.postgres),
      metrics: createBillingMetrics(new Registry()),
      logger: pino({ level: 'silent' }),
      clock: Date.now,
    }
  })
  afterAll(async () => {
    await dispatchQueue.close()
    await settlementQueue.close()
  })

  /** A first run, which compares all accounts. */
  const runMaintenance = (given: MaintenanceOptions) => createMaintenance(given)()

  const callMadeAgo = (ms: number): CallId => `chatcmpl_${ulid(Date.now() - ms)}`
  const loadedAccount = async () => {
    const account = await openTestAccount(ledger.postgres, OPENING_PICO)
    await options.holds.load(account, { balancePico: OPENING_PICO, version: 1n })
    return account
  }

  test('the hold of a lost call is released, and the call settled as failed at no charge', async () => {
    const account = await loadedAccount()
    const callId = callMadeAgo(2 * MINUTE_MS)
    await openHold(redis, account, callId, 300n)
    expect(await runMaintenance(options)).toMatchObject({ lostCalls: 1, driftedBalances: 0 })
    expect(await options.holds.balance(account)).toEqual({
      availPico: OPENING_PICO,
      heldPico: 0n,
      version: 1n,
    })
    expect(await ledger.postgres.callRecord.findUnique({ where: { id: callId } })).toMatchObject({
      status: 'failed',
      chargePico: 0n,
      holdPico: 300n,
      keyId: 'key_test',
    })
  })

  test('a hold past its deadline is looked at, however young its call', async () => {
    const account = await loadedAccount()
    const callId = callMadeAgo(0)
    await openHold(redis, account, callId, 300n, 1_000)
    const later = { ...options, clock: () => Date.now() + 2_000 }
    expect(await runMaintenance(later)).toMatchObject({ lostCalls: 1 })
  })

  test('a fresh hold without a job is left alone: its job is on the way', async () => {
    const account = await loadedAccount()
    await openHold(redis, account, callMadeAgo(0), 300n)
    expect(await runMaintenance(options)).toMatchObject({ lostCalls: 0 })
    expect(await options.holds.balance(account)).toMatchObject({ heldPico: 300n })
  })

  test('the hold of a call with a job is left alone, in either queue', async () => {
    const account = await loadedAccount()
    const [waiting, settling] = [callMadeAgo(20 * MINUTE_MS), callMadeAgo(21 * MINUTE_MS)]
    await openHold(redis, account, waiting, 300n)
    await openHold(redis, account, settling, 200n)
    await dispatchQueue.add('call', {} as never, { jobId: waiting })
    await enqueueSettlement(settlementQueue, settlementOf(account, { id: settling }))
    expect(await runMaintenance(options)).toMatchObject({ lostCalls: 0 })
    expect(await options.holds.balance(account)).toMatchObject({ heldPico: 500n })
    await dispatchQueue.obliterate({ force: true })
    await settlementQueue.obliterate({ force: true })
    await runMaintenance(options)
  })

  test('the backlog of settlements is read once, however many accounts have holds without a job', async () => {
    const settling = [callMadeAgo(2 * MINUTE_MS), callMadeAgo(3 * MINUTE_MS), callMadeAgo(4 * MINUTE_MS)]
    for (const callId of settling) {
      const account = await loadedAccount()
      await openHold(redis, account, callId, 100n)
      await enqueueSettlement(settlementQueue, settlementOf(account, { id: callId }))
    }
    const reading = vi.spyOn(settlementQueue, 'getRanges')
    expect(await runMaintenance(options)).toMatchObject({ lostCalls: 0 })
    expect(reading).toHaveBeenCalledTimes(1)
    reading.mockRestore()
    await settlementQueue.obliterate({ force: true })
    expect(await runMaintenance(options)).toMatchObject({ lostCalls: settling.length })
  })

  test('finds a lost call behind any backlog, and reads no records for it', async () => {
    const account = await loadedAccount()
    const [lost, settling] = [callMadeAgo(2 * MINUTE_MS), callMadeAgo(2 * MINUTE_MS)]
    for (const callId of [lost, settling]) await openHold(redis, account, callId, 100n)
    const waiting = Array.from({ length: 10_500 }, (_, index) => `settle_${index}`)
    const pipeline = redis.pipeline()
    for (const jobId of waiting)
      pipeline.hset(settlementQueue.toKey(jobId), {
        calls: jobId === 'settle_10499' ? `chatcmpl_a,${settling}` : 'chatcmpl_b',
      })
    pipeline.lpush(settlementQueue.toKey('wait'), ...waiting)
    await pipeline.exec()
    const reading = vi.spyOn(settlementQueue, 'getJob')
    expect(await runMaintenance(options)).toMatchObject({ lostCalls: 1 })
    expect(reading).not.toHaveBeenCalled()
    reading.mockRestore()
    expect((await options.holds.openHolds(account)).map(({ callId }) => callId)).toEqual([settling])
    await redis.del(settlementQueue.toKey('wait'), ...waiting.map((jobId) => settlementQueue.toKey(jobId)))
    expect(await runMaintenance(options)).toMatchObject({ lostCalls: 1 })
  })

  test('a settled call whose hold stayed open keeps its charge and loses the hold', async () => {
    const account = await loadedAccount()
    const call = settlementOf(account, { id: callMadeAgo(2 * MINUTE_MS) })
    await openHold(redis, account, call.id, 100n)
    await options.settlements.settle([call])
    expect(await runMaintenance(options)).toMatchObject({ lostCalls: 0, driftedBalances: 0 })
    expect(await options.holds.balance(account)).toEqual({ availPico: 950n, heldPico: 0n, version: 2n })
  })

  test('a quarantined call keeps its hold', async () => {
    const account = await loadedAccount()
    const call = settlementOf(account, { id: callMadeAgo(2 * MINUTE_MS), chargePico: '101' })
    await openHold(redis, account, call.id, 100n)
    await options.settlements.settle([call])
    expect(await runMaintenance(options)).toMatchObject({ lostCalls: 0 })
    expect(await options.holds.balance(account)).toMatchObject({ heldPico: 100n })
  })

  test.each([
    ['available is too high', 'avail', '5000'],
    ['available is below zero', 'avail', '-1'],
    ['held is not the sum of the holds', 'held', '7'],
    ['the ledger went back to an older version', 'ver', '9'],
  ] as const)('a balance cache in which %s is repaired', async (_name, key, value) => {
    const account = await loadedAccount()
    await openHold(redis, account, callMadeAgo(0), 300n)
    await redis.hset(accountKeys(account).record, key, value)
    expect(await runMaintenance(options)).toMatchObject({ driftedBalances: 1 })
    expect(await options.holds.balance(account)).toEqual({ availPico: 700n, heldPico: 300n, version: 1n })
    expect(await runMaintenance(options)).toMatchObject({ driftedBalances: 0 })
  })

  test('a balance cache that is behind the ledger is brought up to date, and is no drift', async () => {
    const account = await loadedAccount()
    await options.settlements.settle([settlementOf(account)])
    expect(await runMaintenance(options)).toMatchObject({ driftedBalances: 0 })
    expect(await options.holds.balance(account)).toEqual({ availPico: 950n, heldPico: 0n, version: 2n })
  })

  describe('of idle accounts', () => {
    /** Maintenance that ran for so long that all accounts are idle, and its clock. */
    const longRunning = async () => {
      let nowMs = Date.now()
      const maintain = createMaintenance({ ...options, clock: () => nowMs })
      await maintain()
      nowMs += 4 * MINUTE_MS
      await maintain()
      return { maintain, later: (ms: number) => (nowMs += ms) }
    }
    const ttlOf = (account: string) => redis.ttl(accountKeys(account).record)

    test('an account without holds leaves the list, and its balance cache expires', async () => {
      const [idle, holding] = [await loadedAccount(), await loadedAccount()]
      await openHold(redis, holding, callMadeAgo(0), 300n, 3_600_000)
      expect(await options.holds.accounts()).toEqual(expect.arrayContaining([idle, holding]))
      await longRunning()
      const listed = await options.holds.accounts()
      expect(listed).toContain(holding)
      expect(listed).not.toContain(idle)
      expect(await ttlOf(idle)).toBeGreaterThan(86_000)
      expect(await ttlOf(holding)).toBe(-1)
    })

    test('its next hold lists it again and keeps its balance cache', async () => {
      const account = await loadedAccount()
      await longRunning()
      expect(await options.holds.accounts()).not.toContain(account)
      await openHold(redis, account, callMadeAgo(0), 300n)
      expect(await options.holds.accounts()).toContain(account)
      expect(await ttlOf(account)).toBe(-1)
    })

    test('an account that changed since it was compared stays listed', async () => {
      const account = await loadedAccount()
      await openHold(redis, account, callMadeAgo(0), 300n)
      await options.holds.unlist(account, 1n)
      expect(await options.holds.accounts()).toContain(account)
      const other = await loadedAccount()
      await options.holds.unlist(other, 0n)
      expect(await options.holds.accounts()).toContain(other)
    })

    test('a balance cache that expired is loaded again with its holds', async () => {
      const account = await loadedAccount()
      await longRunning()
      await redis.del(accountKeys(account).record)
      expect(await openHold(redis, account, callMadeAgo(0), 300n)).toMatchObject({ kind: 'balance-unknown' })
      await options.holds.load(account, { balancePico: OPENING_PICO, version: 1n })
      await openHold(redis, account, callMadeAgo(0), 300n)
      expect(await options.holds.balance(account)).toEqual({ availPico: 700n, heldPico: 300n, version: 1n })
    })

    test('a run costs the same however many accounts were used before', async () => {
      const usedAccounts = async (count: number) => {
        const accounts = Array.from({ length: count }, () => newId('acct'))
        await ledger.postgres.account.createMany({
          data: accounts.map((id) => ({ id, email: `${id}@x.test`, state: 'active' as const })),
        })
        for (const account of accounts) await options.holds.load(account, { balancePico: 0n, version: 0n })
      }
      // The most of some runs, since each compares the next thousand of all accounts.
      const commandsOfRun = async () => {
        const { maintain } = await longRunning()
        const commands = async () =>
          Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1])
        const counts: number[] = []
        for (let run = 0; run < 4; run++) {
          const before = await commands()
          await maintain()
          counts.push((await commands()) - before)
        }
        return Math.max(...counts)
      }
      await usedAccounts(1_100)
      const few = await commandsOfRun()
      await usedAccounts(400)
      expect(await commandsOfRun()).toBeLessThan(few + 100)
    })

    test('a credit whose process died before Redis knew of it is found by its posting', async () => {
      const account = await loadedAccount()
      const { maintain, later } = await longRunning()
      await ledger.postgres.$transaction((transaction) =>
        postLedger(transaction, creditPosting(newId('evt'), account, picoUsd(500n))),
      )
      later(30_000)
      await maintain()
      expect(await options.holds.balance(account)).toMatchObject({ availPico: 1_500n, version: 2n })
    })

    test('one balance cache that is newer than the ledger has all accounts compared', async () => {
      const [idle, busy] = [await loadedAccount(), await loadedAccount()]
      await openHold(redis, busy, callMadeAgo(0), 300n)
      const { maintain } = await longRunning()
      for (const account of [idle, busy]) await redis.hset(accountKeys(account).record, 'ver', '7')
      expect(await maintain()).toMatchObject({ driftedBalances: 2 })
      expect(await options.holds.balance(idle)).toMatchObject({ availPico: OPENING_PICO, version: 1n })
    })
  })
})
