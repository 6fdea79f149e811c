import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKeyHasher } from '../../../src/accounts/key-hash.ts'
import { createKeyStore } from '../../../src/accounts/key-store.ts'
import { auditAllowances } from '../../../src/billing/audit/allowance-audit.ts'
import { type AllowanceStore, createAllowanceStore } from '../../../src/billing/holds/allowance-store.ts'
import { createHoldStore, type HoldStore } from '../../../src/billing/holds/hold-store.ts'
import { createSpendStore, type SpendStore } from '../../../src/billing/reports/usage-store.ts'
import {
  createSettlementStore,
  type SettlementOutcome,
  type SettlementStore,
} from '../../../src/billing/settlement/settlement-store.ts'
import { type AllowancePeriod, allowancePeriod } from '../../../src/core/billing/allowance-period.ts'
import { type CallId, newCallId, newId } from '../../../src/core/kernel/ids.ts'
import { picoUsd } from '../../../src/core/kernel/money.ts'
import { createRedis, type Redis } from '../../../src/platform/redis/redis.ts'
import { apiKeyKeys } from '../../../src/platform/redis/redis-keys.ts'
import {
  lostSettlementOf,
  openTestAccount,
  openTestLedger,
  settlementOf,
  type TestLedger,
} from '../../helpers/billing.ts'
import { createTestRedis, type TestRedis } from '../../helpers/services.ts'

const TOTAL = allowancePeriod('none', 0)
const BALANCE = 1_000_000n

let ledger: TestLedger
let server: TestRedis
let redis: Redis
let holds: HoldStore
let settlements: SettlementStore
let spend: SpendStore
let allowances: AllowanceStore

beforeAll(async () => {
  ledger = await openTestLedger()
  server = await createTestRedis()
  redis = createRedis({ url: server.url, name: 'test', mode: 'fail-fast' })
  holds = createHoldStore(redis)
  settlements = createSettlementStore(ledger.postgres)
  spend = createSpendStore(ledger.postgres)
  allowances = createAllowanceStore(holds, spend)
})
afterAll(async () => {
  redis.disconnect()
  await server.close()
  await ledger.close()
})

/** A key of its own account with a limit, and what happens to it. */
async function limitedKey(limitPico: bigint, period: AllowancePeriod = TOTAL) {
  const accountId = await openTestAccount(ledger.postgres, BALANCE)
  await holds.load(accountId, { balancePico: BALANCE, version: 1n })
  const key = { keyId: newId('key'), accountId, limitPico }
  const leftKey = apiKeyKeys(accountId, key.keyId, period.id).left
  return {
    key,
    leftKey,
    left: () => holds.allowance(key, period),
    lose: () => redis.del(leftKey),
    hold: (callId: CallId, amountPico = 100n) =>
      holds.admit({
        callId,
        accountId,
        keyId: key.keyId,
        holdLifetimeMs: 60_000,
        amountPico,
        flexible: false,
        promptPico: 0n,
        completionRate: 1n,
        completionLimit: 1,
        requestsPerMinute: 1_000_000,
        tokensPerMinute: 1_000_000_000,
        tokens: 1,
        concurrentCalls: 1_000_000,
        accountRequestsPerMinute: 1_000_000,
        accountConcurrentCalls: 1_000_000,
        allowancePeriod: period.id,
      }),
    /** Settles a call of 50 pico-USD in the ledger, and returns how the balance cache is told. */
    async settle(id: CallId, admittedAt = 999) {
      const { accounts } = await settlements.settle([
        settlementOf(accountId, { id, keyId: key.keyId, admittedAt }),
      ])
      return async () => {
        for (const { released, ...ledger } of accounts) await holds.apply(accountId, ledger, released)
      }
    },
  }
}

/** Keys of one account as PostgreSQL knows them, for the audit. */
async function storedKeys(limits: bigint[]) {
  const accountId = await openTestAccount(ledger.postgres, BALANCE)
  const store = createKeyStore(ledger.postgres, createKeyHasher([randomBytes(32)]), randomBytes)
  const settings = { name: '', limitReset: 'none', expiresAt: null, requestsPerMinute: null } as const
  const keys = await Promise.all(
    limits.map(async (limit) => {
      const limitPico = picoUsd(limit)
      const { key } = await store.create(accountId, { ...settings, limitPico, concurrentCalls: null })
      return { keyId: key.id, accountId, limitPico }
    }),
  )
  return { keys, deps: { postgres: ledger.postgres, allowances, clock: Date.now } }
}

describe('the allowance of a key', () => {
  test('is right after a call is charged whose hold had been given back whole', async () => {
    const { key, hold, settle, left } = await limitedKey(1_000n)
    const id = newCallId()
    await allowances.load(key, TOTAL)
    await hold(id)
    const record = { id, keyId: key.keyId, admittedAt: 999 }
    const tell = async ({ accounts }: SettlementOutcome) => {
      for (const { accountId, released, ...ledger } of accounts)
        await holds.apply(accountId, ledger, released)
    }
    await tell(await settlements.settle([lostSettlementOf(key.accountId, record)]))
    expect(await left()).toBe(1_000n)
    const { superseded, ...outcome } = await settlements.settle([settlementOf(key.accountId, record)])
    await tell({ superseded, ...outcome })
    for (const call of superseded) await holds.forgetAllowances(call.accountId, call.keyId, call.admittedAt)
    await allowances.load(key, TOTAL)
    expect(await left()).toBe(950n)
    await (await settle(newCallId()))()
    expect(await holds.balance(key.accountId)).toMatchObject({ availPico: BALANCE - 100n, heldPico: 0n })
  })

  test('is its limit less what it spent in the period, and expires after it', async () => {
    const period = allowancePeriod('daily', Date.UTC(2035, 4, 5, 12))
    const { key, settle, left, leftKey } = await limitedKey(1_000n, period)
    await settle(newCallId(), period.startsAt - 1)
    await settle(newCallId(), period.startsAt)
    await settle(newCallId(), period.endsAt! - 1)
    await settle(newCallId(), period.endsAt!)
    expect(await left()).toBeNull()
    await allowances.load(key, period)
    expect(await left()).toBe(900n)
    const expiresAt = Date.now() + (await redis.pttl(leftKey))
    expect(Math.abs(expiresAt - (period.endsAt! + 3_600_000))).toBeLessThan(10_000)
  })

  test('does not expire where the limit is for good', async () => {
    const { key, left, leftKey } = await limitedKey(5n)
    await allowances.load(key, TOTAL)
    expect(await left()).toBe(5n)
    expect(await redis.pttl(leftKey)).toBe(-1)
  })

  test('stays as it is when it is there', async () => {
    const { key, hold, left } = await limitedKey(1_000n)
    await allowances.load(key, TOTAL)
    await hold(newCallId())
    await allowances.load(key, TOTAL)
    expect(await left()).toBe(900n)
  })

  test('an allowance beyond 2^53 is exact', async () => {
    const limit = 9_007_199_254_740_993n * 1_000n
    const { key, settle, left } = await limitedKey(limit)
    await settle(newCallId())
    await allowances.load(key, TOTAL)
    expect(await left()).toBe(limit - 50n)
  })

  test('is loaded once for a thousand callers', async () => {
    const { key, left } = await limitedKey(1_000n)
    let readings = 0
    const counted = createAllowanceStore(holds, {
      spending: (...args) => {
        readings += 1
        return spend.spending(...args)
      },
    })
    await Promise.all(Array.from({ length: 1_000 }, () => counted.load(key, TOTAL)))
    expect({ readings, left: await left() }).toEqual({ readings: 1, left: 1_000n })
  })
})

describe('the check of an allowance', () => {
  test('computes the figure from the ledger and the open holds, settled or not, and leaves it alone', async () => {
    const { key, hold, settle, left, leftKey } = await limitedKey(1_000n)
    expect(await allowances.check(key, TOTAL)).toBeNull()
    await allowances.load(key, TOTAL)
    const [open, told, late] = [newCallId(), newCallId(), newCallId()]
    for (const call of [open, told, late]) await hold(call)
    await (await settle(told))()
    await settle(late)
    expect(await allowances.check(key, TOTAL)).toEqual({ left: 750n, shouldBe: 750n })
    await redis.incrby(leftKey, 7)
    expect(await allowances.check(key, TOTAL)).toEqual({ left: 757n, shouldBe: 750n })
    expect(await left()).toBe(757n)
    expect(await redis.exists(`${leftKey}:check`)).toBe(0)
  })

  test('the audit checks what keys may still spend', async () => {
    const { keys, deps } = await storedKeys([1_000n, 2_000n])
    expect(await auditAllowances(deps)).toMatchObject({ broken: 0, discrepancies: [] })
    for (const key of keys) await allowances.load(key, TOTAL)
    expect(await auditAllowances(deps)).toMatchObject({ broken: 0 })
    await redis.decrby(apiKeyKeys(keys[1]!.accountId, keys[1]!.keyId, TOTAL.id).left, 1)
    expect(await auditAllowances(deps)).toMatchObject({
      broken: 1,
      discrepancies: [{ subject: keys[1]!.keyId, detail: 'left 1999, should be 2000' }],
    })
  })
})

describe('an allowance that Redis lost', () => {
  test('comes back less the holds of open calls, and gets back what they leave', async () => {
    const { key, hold, settle, left, lose } = await limitedKey(1_000n)
    await allowances.load(key, TOTAL)
    const call = newCallId()
    await hold(call)
    await lose()
    await allowances.load(key, TOTAL)
    expect(await left()).toBe(900n)
    await (await settle(call))()
    expect(await left()).toBe(950n)
  })

  test('counts a call once that is settled in the ledger and still held at the holds', async () => {
    const { key, hold, settle, left, lose } = await limitedKey(1_000n)
    await allowances.load(key, TOTAL)
    const call = newCallId()
    await hold(call)
    const apply = await settle(call)
    await lose()
    await allowances.load(key, TOTAL)
    expect(await left()).toBe(900n)
    await apply()
    expect(await left()).toBe(950n)
  })

  test('is read again when a call settles in between', async () => {
    const { key, hold, settle, left, lose } = await limitedKey(1_000n)
    await allowances.load(key, TOTAL)
    const call = newCallId()
    await hold(call)
    await lose()
    const readings: bigint[] = []
    const overtaken = createAllowanceStore(holds, {
      async spending(...args) {
        const seen = await spend.spending(...args)
        if (readings.push(seen.spentPico) === 1) await (await settle(call))()
        return seen
      },
    })
    await overtaken.load(key, TOTAL)
    expect({ readings, left: await left() }).toEqual({ readings: [0n, 50n], left: 950n })
  })

  test('is read again when a hold comes in between', async () => {
    const { key, hold, left, lose } = await limitedKey(1_000n)
    let readings = 0
    const overtaken = createAllowanceStore(holds, {
      async spending(...args) {
        const seen = await spend.spending(...args)
        readings += 1
        if (readings === 1) {
          // Another instance loaded it, admitted a call, and it was lost once more.
          await allowances.load(key, TOTAL)
          await hold(newCallId())
          await lose()
        }
        return seen
      },
    })
    await overtaken.load(key, TOTAL)
    expect({ readings, left: await left() }).toEqual({ readings: 2, left: 900n })
  })

  test('leaves out the holds of other keys and of other periods', async () => {
    const { key, hold, left, lose } = await limitedKey(1_000n)
    await allowances.load(key, TOTAL)
    await hold(newCallId())
    await lose()
    const daily = allowancePeriod('daily', Date.UTC(2035, 0, 1))
    await allowances.load(key, daily)
    expect(await holds.allowance(key, daily)).toBe(1_000n)
    const other = { ...key, keyId: newId('key') }
    await allowances.load(other, TOTAL)
    expect(await holds.allowance(other, TOTAL)).toBe(1_000n)
    expect(await left()).toBeNull()
  })

  test('is the limit less what was spent, however holds, settlements, late messages and losses mix', async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ do: fc.constant('hold' as const), pick: fc.constant(0) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('settle' as const), pick: fc.nat() }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('apply' as const), pick: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const), pick: fc.constant(0) }) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const limit = 10_000n
        const { key, hold, settle, left, lose } = await limitedKey(limit)
        const running: CallId[] = []
        const told: Array<() => Promise<void>> = []
        let settled = 0n
        for (const { do: action, pick } of steps) {
          if (action === 'hold') {
            const call = newCallId()
            await allowances.load(key, TOTAL)
            expect((await hold(call)).kind).toBe('admitted')
            running.push(call)
          } else if (action === 'settle' && running.length > 0) {
            const [call] = running.splice(pick % running.length, 1)
            told.push(await settle(call!))
            settled += 1n
          } else if (action === 'apply' && told.length > 0) {
            await told.splice(pick % told.length, 1)[0]!()
          } else if (action === 'lose') {
            await lose()
          }
          const now = await left()
          const held = BigInt(running.length + told.length) * 100n
          const released = settled - BigInt(told.length)
          if (now !== null) expect(now).toBe(limit - held - released * 50n)
        }
        for (const apply of told) await apply()
        await allowances.load(key, TOTAL)
        expect(await left()).toBe(limit - BigInt(running.length) * 100n - settled * 50n)
      }),
      { numRuns: 40 },
    )
  })
})
