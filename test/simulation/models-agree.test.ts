import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHoldStore } from '../../src/billing/holds/hold-store.ts'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import { allowancePeriod } from '../../src/core/billing/allowance-period.ts'
import { accountBudget, drawText, keyBudget, memberBudget } from '../../src/core/billing/budget.ts'
import type { CallJob, SettlementRecord } from '../../src/core/calls/call-job.ts'
import { type CallId, newCallId, newId } from '../../src/core/kernel/ids.ts'
import { createDispatchQueue, type DispatchQueue } from '../../src/platform/queues/queues.ts'
import { createRedis, type Redis } from '../../src/platform/redis/redis.ts'
import { openTestAccount, openTestLedger, settlementOf, type TestLedger } from '../helpers/billing.ts'
import { createTestRedis, type TestRedis } from '../helpers/services.ts'
import { ModelPostgres } from './model-postgres.ts'
import { ModelQueue } from './model-queue.ts'
import { ModelRedis } from './model-redis.ts'
import { SeededRandom } from './seeded-random.ts'
import { connectRedis } from './simulated-clients.ts'
import type { Connection } from './simulated-server.ts'

const HOLDS = 6
const OPENING_PICO = 1_000n

const index = fc.nat({ max: HOLDS - 1 })
/** Which of the budgets of key, member and account: none to all. */
const budgets = fc.subarray([0, 1, 2])
const figure = fc.record({ balancePico: fc.bigInt(0n, 2_000n), version: fc.bigInt(1n, 8n) })
const step = fc.oneof(
  fc.record({
    do: fc.constant('admit' as const),
    call: index,
    amount: fc.bigInt(1n, 900n),
    flexible: fc.boolean(),
    places: fc.integer({ min: 1, max: 4 }),
    ofAccount: fc.integer({ min: 1, max: 4 }),
    job: fc.constantFrom('none' as const, 'to enqueue' as const, 'to claim' as const),
    budgets,
  }),
  fc.record({ do: fc.constant('load' as const), ledger: figure, epoch: fc.constantFrom('*', 'a', 'b') }),
  fc.record({ do: fc.constant('announce' as const), epoch: fc.constantFrom('a', 'b') }),
  fc.record({ do: fc.constant('apply' as const), ledger: figure, calls: fc.array(index, { maxLength: 3 }) }),
  fc.record({
    do: fc.constant('restore' as const),
    call: index,
    amount: fc.bigInt(1n, 900n),
    isOpen: fc.boolean(),
    budgets,
  }),
  fc.record({
    do: fc.constant('budget' as const),
    mode: fc.constantFrom('load' as const, 'check' as const),
    budget: fc.nat({ max: 2 }),
    limit: fc.bigInt(0n, 2_000n),
    spent: fc.bigInt(0n, 500n),
    charges: fc.array(fc.tuple(index, fc.option(fc.bigInt(0n, 900n))), { maxLength: HOLDS }),
  }),
  fc.record({ do: fc.constant('forget' as const), budget: fc.nat({ max: 2 }) }),
  fc.record({ do: fc.constant('end' as const), call: index, charge: fc.bigInt(0n, 1_000n) }),
  fc.record({ do: fc.constant('rebuild' as const), ledger: figure, force: fc.boolean() }),
  fc.record({ do: fc.constant('unlist' as const), version: fc.option(fc.bigInt(1n, 8n)) }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const TURN = { share: 2, step: 5, lastStep: 6 }
const CLAIM = { token: 'worker', lockMs: 60_000 }

/** The balance cache's own code, whatever it talks to. */
function gateOver(redis: Redis, accountId: string, callIds: CallId[]) {
  const holds = createHoldStore(redis)
  const keyId = 'key_test'
  const limits = {
    requestsPerMinute: 1e6,
    accountRequestsPerMinute: 1e6,
    tokensPerMinute: 1e9,
    tokens: 1,
  }
  const month = allowancePeriod('monthly', Date.now())
  const all = [keyBudget(accountId, keyId), memberBudget(accountId, 'acct_m'), accountBudget(accountId)]
  const running = (some: number[]) => some.map((one) => ({ ...all[one]!, period: month }))
  return {
    async take(one: Step): Promise<unknown> {
      switch (one.do) {
        case 'admit': {
          const { rate, ...answer } = await holds.admit({
            ...limits,
            callId: callIds[one.call]!,
            accountId,
            keyId,
            holdLifetimeMs: 60_000,
            amountPico: one.amount,
            flexible: one.flexible,
            promptPico: one.amount / 3n,
            completionRate: 7n,
            completionLimit: 100,
            concurrentCalls: one.places,
            accountConcurrentCalls: one.ofAccount,
            budgets: running(one.budgets),
            ...(one.job !== 'none' && {
              job: { data: '{}', turn: TURN, nowMs: 1, ...(one.job === 'to claim' && { claim: CLAIM }) },
            }),
          })
          return answer
        }
        case 'load':
          return holds.load(accountId, one.ledger, one.epoch)
        case 'announce':
          return holds.announceLoad(accountId, one.epoch)
        case 'apply':
          return holds.apply(
            accountId,
            one.ledger,
            one.calls.map((call) => ({ callId: callIds[call]!, chargePico: 0n })),
          )
        case 'restore':
          return holds.restore({
            callId: callIds[one.call]!,
            accountId,
            keyId,
            amountPico: one.amount,
            completionLimit: 5,
            draws: drawText(running(one.budgets)),
            deadlineAt: Date.now() + 60_000,
            isOpen: one.isOpen,
          })
        case 'end':
          return holds.endCall({ accountId, keyId, callId: callIds[one.call]!, chargePico: one.charge })
        case 'budget':
          return holds.computeAllowance(one.mode, { ...all[one.budget]!, limitPico: one.limit }, month, {
            spentPico: one.spent,
            charges: new Map(one.charges.map(([call, charge]) => [callIds[call]!, charge])),
          })
        case 'forget':
          return holds.forgetAllowance(all[one.budget]!, month)
        case 'rebuild':
          return holds.rebuild(accountId, one.ledger, one.force)
        case 'unlist':
          return holds.unlist(accountId, one.version)
      }
    },
    async state() {
      const open = await holds.openHolds(accountId)
      open.sort((a, b) => (a.callId < b.callId ? -1 : 1))
      const enqueued = await Promise.all(
        callIds.map((callId) => holds.wasEnqueued({ id: callId, accountId })),
      )
      return {
        holds: open.map(({ deadlineAt, ...hold }) => hold),
        enqueued,
        left: await Promise.all(all.map((holder) => holds.allowance(holder, month))),
        reading: await holds.inspect(accountId),
        accounts: await holds.accounts(),
      }
    },
  }
}

/** A connection to a model that answers at once. */
const AT_ONCE = { send: async (perform: () => unknown) => perform() } as unknown as Connection

describe('the models of the simulation do as the real services', () => {
  let server: TestRedis
  let redis: Redis
  let bullmq: DispatchQueue
  let ledger: TestLedger
  beforeAll(async () => {
    server = await createTestRedis()
    redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
    bullmq = createDispatchQueue(redis)
    ledger = await openTestLedger()
  })
  afterAll(async () => {
    await bullmq.close()
    redis.disconnect()
    await server.close()
    await ledger.close()
  })

  test('the scripts of the balance cache: the same answers and the same state after every step', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        await redis.flushall()
        const accountId = newId('acct')
        const callIds = Array.from({ length: HOLDS }, () => newCallId())
        const queue = new ModelQueue<CallJob>(Date.now, new SeededRandom(1))
        const data = new ModelRedis(Date.now, (callId, job, claim) => queue.addCall(callId, job, claim))
        const model = gateOver(connectRedis([{ data } as never], [AT_ONCE], 1), accountId, callIds)
        const real = gateOver(redis, accountId, callIds)
        for (const one of steps) {
          expect(await model.take(one)).toEqual(await real.take(one))
          expect(await model.state()).toEqual(await real.state())
        }
        const states = await Promise.all(callIds.map((callId) => bullmq.getJobState(callId)))
        expect(callIds.map((callId) => queue.state(callId))).toEqual(
          states.map((state) => state.replace('prioritized', 'waiting')),
        )
      }),
      { numRuns: 150 },
    )
  })

  test('settlement: the same balances, releases and refusals for any batches', async () => {
    const call = fc.record({ charge: fc.nat(400), hold: fc.nat(400) })
    const batches = fc.array(fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 6 }), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 8, maxLength: 8 }), batches, async (calls, batches) => {
        const accountId = await openTestAccount(ledger.postgres, OPENING_PICO)
        const model = new ModelPostgres()
        model.openAccount(accountId, OPENING_PICO)
        const store = createSettlementStore(ledger.postgres)
        const records = calls.map(({ charge, hold }) =>
          settlementOf(accountId, {
            usage: { promptTokens: charge, completionTokens: 0 },
            chargePico: String(charge),
            holdPico: String(hold),
          }),
        )
        for (const batch of batches) {
          const some = batch.map((pick) => records[pick] as SettlementRecord)
          expect(facts(model.settle(some))).toEqual(facts(await store.settle(some)))
        }
      }),
      { numRuns: 40 },
    )
  })
})

/** What of an outcome matters, in a fixed order. */
function facts({
  accounts,
  quarantined,
}: Awaited<ReturnType<ReturnType<typeof createSettlementStore>['settle']>>) {
  return {
    accounts: accounts.map(({ released, ...account }) => ({
      ...account,
      released: released.map(({ callId, chargePico }) => `${callId} ${chargePico}`).sort(),
    })),
    quarantined: quarantined.map(({ callId }) => callId).sort(),
  }
}
