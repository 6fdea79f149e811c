import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { createKeyHasher } from '../../../src/accounts/key-hash.ts'
import { createKeyStore } from '../../../src/accounts/key-store.ts'
import { openAllowanceAudit } from '../../../src/billing/audit/allowance-audit.ts'
import { type AllowanceStore, createAllowanceStore } from '../../../src/billing/holds/allowance-store.ts'
import { createHoldStore, type HoldStore } from '../../../src/billing/holds/hold-store.ts'
import { createSpendStore, type SpendStore } from '../../../src/billing/reports/spend-store.ts'
import {
  createSettlementStore,
  type SettlementOutcome,
  type SettlementStore,
} from '../../../src/billing/settlement/settlement-store.ts'
import { type AllowancePeriod, allowancePeriod } from '../../../src/core/billing/allowance-period.ts'
import { accountBudget, keyBudget, memberBudget } from '../../../src/core/billing/budget.ts'
import { type CallId, newCallId, newId } from '../../../src/core/kernel/ids.ts'
import { picoUsd } from '../../../src/core/kernel/money.ts'
import type { Redis } from '../../../src/platform/redis/redis.ts'
import { allowanceKey } from '../../../src/platform/redis/redis-keys.ts'
import { lostSettlementOf, openTestAccount, PLAIN_KEY, settlementOf } from '../../helpers/billing.ts'
import { admissionOf } from '../../helpers/open-hold.ts'
import { testLedger, testRedis } from '../../helpers/resources.ts'

const TOTAL = allowancePeriod('none', 0)
const BALANCE = 1_000_000n

let redis: Redis
let holds: HoldStore
let settlements: SettlementStore
let spend: SpendStore
let allowances: AllowanceStore

const ledger = testLedger()
const server = testRedis()
beforeAll(() => {
  redis = server.connect('fail-fast')
  holds = createHoldStore(redis)
  settlements = createSettlementStore(ledger.postgres)
  spend = createSpendStore(ledger.postgres)
  allowances = createAllowanceStore(holds, spend)
})

/** A key of its own account with a limit, and what happens to it. */
async function limitedKey(limitPico: bigint, period: AllowancePeriod = TOTAL) {
  const accountId = await openTestAccount(ledger.postgres, BALANCE)
  await holds.load(accountId, { balancePico: BALANCE, version: 1n })
  const keyId = newId('key')
  const key = { ...keyBudget(accountId, keyId), limitPico }
  const leftKey = allowanceKey(key, period.id)
  return {
    key,
    leftKey,
    left: () => holds.allowance(key, period),
    lose: () => redis.del(leftKey),
    hold: (callId: CallId, amountPico = 100n) =>
      holds.admit(admissionOf(accountId, { callId, keyId, amountPico, budgets: [{ ...key, period }] })),
    /** Settles a call of 50 pico-USD in the ledger, and returns how the balance cache is told. */
    async settle(id: CallId, admittedAt = 999) {
      const { accounts } = await settlements.settle([settlementOf(accountId, { id, keyId, admittedAt })])
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
  const keys = await Promise.all(
    limits.map(async (limit) => {
      const limitPico = picoUsd(limit)
      const { key } = await store.create(accountId, { ...PLAIN_KEY, limitPico })
      return { ...keyBudget(accountId, key.id), limitPico }
    }),
  )
  return { keys, accountId, deps: { postgres: ledger.postgres, allowances, clock: Date.now } }
}

/** Audits the allowances of one account. */
async function auditAllowances(accountId: string, deps: Parameters<typeof openAllowanceAudit>[0]) {
  const audit = openAllowanceAudit(deps)
  await audit.compare([accountId])
  return audit.result()
}

describe('the allowance of a key', () => {
  test('loads while a hundred open calls end all the time, and others begin', async () => {
    const { key, hold, settle, left, lose } = await limitedKey(500_000n)
    await allowances.load(key, TOTAL)
    const running: CallId[] = []
    const begin = async () => {
      const id = newCallId()
      // Without an allowance a call is not admitted: its admission loads it first.
      if ((await hold(id)).kind === 'admitted') running.push(id)
    }
    while (running.length < 100) await begin()
    let [settled, isLoaded] = [0n, false]
    const calls = (async () => {
      while (!isLoaded) {
        await (await settle(running.shift()!))()
        settled += 1n
        while (running.length < 100 && (await left()) !== null) await begin()
        if (running.length === 0) break
      }
    })()
    for (let turn = 0; turn < 20; turn++) {
      await lose()
      await allowances.load(key, TOTAL)
    }
    isLoaded = true
    await calls
    expect(settled).toBeGreaterThan(0n)
    expect(await left()).toBe(500_000n - BigInt(running.length) * 100n - settled * 50n)
  })

  test('is right after a call is charged whose hold had been given back whole', async () => {
    const { key, hold, settle, left } = await limitedKey(1_000n)
    const id = newCallId()
    await allowances.load(key, TOTAL)
    await hold(id)
    const record = { id, keyId: key.id, admittedAt: 999 }
    const tell = async ({ accounts }: SettlementOutcome) => {
      for (const { accountId, released, ...ledger } of accounts)
        await holds.apply(accountId, ledger, released)
    }
    await tell(await settlements.settle([lostSettlementOf(key.accountId, record)]))
    expect(await left()).toBe(1_000n)
    const { superseded, ...outcome } = await settlements.settle([settlementOf(key.accountId, record)])
    await tell({ superseded, ...outcome })
    for (const call of superseded) await holds.forgetAllowances(call)
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

  test('expires after thirty days where the limit is for good, and is the same when it is loaded again', async () => {
    const { key, settle, left, leftKey } = await limitedKey(1_000n)
    await settle(newCallId())
    await allowances.load(key, TOTAL)
    const before = await left()
    expect(before).toBe(950n)
    expect(Math.abs((await redis.pttl(leftKey)) - 30 * 86_400_000)).toBeLessThan(10_000)
    await redis.pexpire(leftKey, 0)
    expect(await left()).toBeNull()
    await allowances.load(key, TOTAL)
    expect(await left()).toBe(before)
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
      ...spend,
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
    const { keys, accountId, deps } = await storedKeys([1_000n, 2_000n])
    expect(await auditAllowances(accountId, deps)).toMatchObject({ broken: 0, discrepancies: [] })
    for (const key of keys) await allowances.load(key, TOTAL)
    expect(await auditAllowances(accountId, deps)).toMatchObject({ broken: 0 })
    await redis.decrby(allowanceKey(keys[1]!, TOTAL.id), 1)
    expect(await auditAllowances(accountId, deps)).toMatchObject({
      broken: 1,
      discrepancies: [{ subject: keys[1]!.id, detail: 'left 1999 in total, should be 2000' }],
    })
  })
})

/** An organisation with a cap, two members and a key of each; calls of 100 held and 50 charged. */
async function organisation() {
  const { postgres } = ledger
  const accountId = await openTestAccount(postgres, BALANCE)
  await holds.load(accountId, { balancePico: BALANCE, version: 1n })
  const store = createKeyStore(postgres, createKeyHasher([randomBytes(32)]), randomBytes)
  const members = await Promise.all(
    [1, 2].map(async () => {
      const personId = await openTestAccount(postgres, 1n)
      const membership = { accountId, personId, role: 'developer', monthlyBudgetPico: 2_000n } as const
      await postgres.organisationMember.create({ data: membership })
      const { key } = await store.create(accountId, PLAIN_KEY)
      await postgres.apiKey.update({ where: { id: key.id }, data: { createdBy: personId } })
      return { keyId: key.id, budget: { ...memberBudget(accountId, personId), limitPico: 2_000n } }
    }),
  )
  const monthlyLimitPico = 5_000n
  await postgres.account.update({ where: { id: accountId }, data: { monthlyLimitPico } })
  const cap = { ...accountBudget(accountId), limitPico: monthlyLimitPico }
  const [ann, bo] = members
  return {
    accountId,
    ann: ann!,
    bo: bo!,
    cap,
    hold: async (
      keyId: string,
      budgets: Parameters<typeof holds.admit>[0]['budgets'],
      callId = newCallId(),
    ) => {
      const answer = await holds.admit(admissionOf(accountId, { callId, keyId, budgets }))
      expect(answer.kind).toBe('admitted')
      return callId
    },
    async settle(keyId: string, id: CallId, admittedAt = Date.now()) {
      const { accounts } = await settlements.settle([settlementOf(accountId, { id, keyId, admittedAt })])
      for (const { released, ...told } of accounts) await holds.apply(accountId, told, released)
    },
  }
}

describe('the allowances of members and accounts', () => {
  const period = allowancePeriod('monthly', Date.now())

  test('are their budgets less what their keys spent and hold in the month', async () => {
    const { ann, bo, cap, hold, settle } = await organisation()
    await settle(ann.keyId, newCallId())
    await settle(bo.keyId, newCallId())
    await settle(bo.keyId, newCallId(), period.startsAt - 1)
    for (const budget of [ann.budget, bo.budget, cap]) await allowances.load(budget, period)
    const lefts = () => Promise.all([ann.budget, bo.budget, cap].map((one) => holds.allowance(one, period)))
    expect(await lefts()).toEqual([1_950n, 1_950n, 4_900n])
    const call = await hold(ann.keyId, [
      { ...ann.budget, period },
      { ...cap, period },
    ])
    expect(await lefts()).toEqual([1_850n, 1_950n, 4_800n])
    await settle(ann.keyId, call)
    expect(await lefts()).toEqual([1_900n, 1_950n, 4_850n])
  })

  test('count calls that were running when the budget was set, and get back what those leave', async () => {
    const { ann, bo, cap, hold, settle, accountId } = await organisation()
    const [first, second] = [await hold(ann.keyId, []), await hold(ann.keyId, [])]
    await hold(bo.keyId, [])
    await holds.reserveTakeback(accountId, 7n, { balancePico: BALANCE, version: 1n })
    for (const budget of [ann.budget, cap]) await allowances.load(budget, period)
    expect(await holds.allowance(ann.budget, period)).toBe(1_800n)
    expect(await holds.allowance(cap, period)).toBe(4_700n)
    await settle(ann.keyId, first)
    await holds.release(accountId, second)
    expect(await holds.allowance(ann.budget, period)).toBe(1_950n)
    expect(await holds.allowance(cap, period)).toBe(4_850n)
    for (const budget of [ann.budget, cap]) {
      const { left, shouldBe } = (await allowances.check(budget, period))!
      expect(left).toBe(shouldBe)
    }
  })

  test('a call that ends in the next month gives back to the month it was admitted in', async () => {
    const { ann, cap, hold, settle } = await organisation()
    const next = allowancePeriod('monthly', period.endsAt!)
    const inNext = { startsAt: next.startsAt, at: period.endsAt! }
    for (const month of [period, next]) await allowances.load(cap, month)
    const [late, early] = [
      await hold(ann.keyId, [{ ...cap, period }]),
      await hold(ann.keyId, [{ ...cap, period: next }]),
    ]
    await settle(ann.keyId, late, inNext.startsAt - 1)
    await settle(ann.keyId, early, inNext.at)
    expect(await holds.allowance(cap, period)).toBe(4_950n)
    expect(await holds.allowance(cap, next)).toBe(4_950n)
    for (const month of [period, next])
      expect(await allowances.check(cap, month)).toEqual({ left: 4_950n, shouldBe: 4_950n })
  })

  test('a limit whose period is changed while calls run counts them in the new period', async () => {
    const { key, hold, settle } = await limitedKey(1_000n)
    await allowances.load(key, TOTAL)
    const call = newCallId()
    await hold(call)
    await allowances.load(key, period)
    expect(await holds.allowance(key, period)).toBe(900n)
    await (await settle(call, Date.now()))()
    expect(await allowances.check(key, period)).toEqual({ left: 950n, shouldBe: 950n })
  })

  test('are forgotten once a call was charged whose hold had been given back whole', async () => {
    const { ann, cap, accountId } = await organisation()
    const record = { id: newCallId(), keyId: ann.keyId, admittedAt: Date.now() }
    for (const budget of [ann.budget, cap]) await allowances.load(budget, period)
    await settlements.settle([lostSettlementOf(accountId, record)])
    const { superseded } = await settlements.settle([settlementOf(accountId, record)])
    for (const call of superseded) await holds.forgetAllowances(call)
    for (const budget of [ann.budget, cap]) expect(await holds.allowance(budget, period)).toBeNull()
  })

  test('the audit names the budget whose allowance is not what the ledger says', async () => {
    const { ann, bo, cap, accountId } = await organisation()
    const deps = { postgres: ledger.postgres, allowances, clock: Date.now }
    for (const budget of [ann.budget, bo.budget, cap]) await allowances.load(budget, period)
    const named = async () => {
      const { discrepancies } = await auditAllowances(accountId, deps)
      return discrepancies
        .filter(({ subject }) => subject.includes(accountId))
        .map(({ subject, detail }) => `${subject}: ${detail}`)
    }
    expect(await named()).toEqual([])
    await redis.incrby(allowanceKey(cap, period.id), 3)
    await redis.decrby(allowanceKey(bo.budget, period.id), 1)
    expect(await named()).toEqual([
      `${accountId}: left 5003 in ${period.id}, should be 5000`,
      `${bo.budget.id} in ${accountId}: left 1999 in ${period.id}, should be 2000`,
    ])
  })
})

describe('the audit of allowances', () => {
  const wrongOf = async (accountId: string, deps: Parameters<typeof openAllowanceAudit>[0]) =>
    (await auditAllowances(accountId, deps)).discrepancies.filter(({ subject }) =>
      subject.includes(accountId),
    )

  test('compares the period that has just ended too, until its allowance expires', async () => {
    const { cap, accountId } = await organisation()
    const nextMonth = allowancePeriod('monthly', Date.now()).endsAt!
    await allowances.load(cap, allowancePeriod('monthly', Date.now()))
    await redis.incrby(allowanceKey(cap, allowancePeriod('monthly', Date.now()).id), 3)
    const deps = { postgres: ledger.postgres, allowances }
    expect(await wrongOf(accountId, { ...deps, clock: () => nextMonth + 60_000 })).toHaveLength(1)
    expect(await wrongOf(accountId, { ...deps, clock: () => nextMonth + 3_700_000 })).toEqual([])
  })

  test('the audit deletes the allowances of revoked keys', async () => {
    const { keys, accountId, deps } = await storedKeys([1_000n, 2_000n])
    for (const key of keys) await allowances.load(key, TOTAL)
    const [revoked, used] = keys as [(typeof keys)[0], (typeof keys)[0]]
    await createKeyStore(ledger.postgres, createKeyHasher([randomBytes(32)]), randomBytes).revoke(
      revoked.id,
      new Date(),
    )
    await auditAllowances(accountId, { ...deps, forget: holds.forgetAllowance })
    expect(await holds.allowance(revoked, TOTAL)).toBeNull()
    expect(await holds.allowance(used, TOTAL)).toBe(2_000n)
  })

  test('deletes a wrong allowance when it is to repair, and the next call loads it right', async () => {
    const { cap, accountId } = await organisation()
    const period = allowancePeriod('monthly', Date.now())
    await allowances.load(cap, period)
    // The limit was changed, and the instance that changed it could not announce that.
    await ledger.postgres.account.update({ where: { id: accountId }, data: { monthlyLimitPico: 7_000n } })
    const deps = { postgres: ledger.postgres, allowances, clock: Date.now }
    expect(await wrongOf(accountId, deps)).toHaveLength(1)
    expect(await holds.allowance(cap, period)).toBe(5_000n)
    expect(await wrongOf(accountId, { ...deps, forget: holds.forgetAllowance })).toHaveLength(1)
    expect(await holds.allowance(cap, period)).toBeNull()
    expect(await wrongOf(accountId, deps)).toEqual([])
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
      ...spend,
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
      ...spend,
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
    const other = { ...key, id: newId('key') }
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
