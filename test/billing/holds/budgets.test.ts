import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { AdmissionReply } from '../../../src/billing/holds/admission.ts'
import { createHoldStore, type HoldStore } from '../../../src/billing/holds/hold-store.ts'
import {
  accountBudget,
  type BudgetHolder,
  drawnPeriod,
  drawText,
  keyBudget,
  memberBudget,
} from '../../../src/core/billing/budget.ts'
import { GROUP_SCOPES } from '../../../src/core/billing/group-scopes.ts'
import { type CallId, newCallId, newId } from '../../../src/core/kernel/ids.ts'
import type { Redis } from '../../../src/platform/redis/redis.ts'
import { accountKeys, allowanceKey } from '../../../src/platform/redis/redis-keys.ts'
import { admissionOf } from '../../helpers/open-hold.ts'
import { testRedis } from '../../helpers/resources.ts'

const MONTH = { id: 'm2035-05-01' }
const AMOUNT = 100n
/** Any characters may be in a value. */
const TAG = 'team=a,b:c@d e'

let redis: Redis
let holds: HoldStore

const server = testRedis()
beforeAll(() => {
  redis = server.connect('fail-fast')
  holds = createHoldStore(redis)
})

/** An account with members, keys and what is left of their budgets; null: no budget. */
async function budgeted(left: {
  keys: Array<bigint | null>
  member: bigint | null
  account: bigint | null
  /** Of a tag that each call has. */
  tag?: bigint | null
}) {
  const accountId = newId('acct')
  await holds.load(accountId, { balancePico: 1_000_000n, version: 1n })
  const holders: Array<[BudgetHolder, bigint | null]> = [
    ...left.keys.map((amount, index) => [keyBudget(accountId, `key_${index}`), amount] as const),
    [memberBudget(accountId, 'acct_member'), left.member],
    [accountBudget(accountId), left.account],
    ...(left.tag === undefined ? [] : [[{ scope: 'tag' as const, accountId, id: TAG }, left.tag] as const]),
  ].map(([holder, amount]) => [holder, amount] as [BudgetHolder, bigint | null])
  const bounding = new Map<string, BudgetHolder>()
  for (const [holder, amount] of holders) {
    if (amount === null) continue
    bounding.set(`${holder.scope} ${holder.id}`, holder)
    await redis.set(allowanceKey(holder, MONTH.id), String(amount))
  }
  const budgetsOf = (key: number) =>
    holders
      .filter(([{ scope, id }, amount]) => amount !== null && (scope !== 'key' || id === `key_${key}`))
      .map(([holder]) => ({ ...holder, period: MONTH }))
  return {
    accountId,
    budgetsOf,
    admit: (key: number, more: { callId?: CallId; amountPico?: bigint; flexible?: boolean } = {}) =>
      holds.admit(
        admissionOf(accountId, {
          keyId: `key_${key}`,
          amountPico: AMOUNT,
          promptPico: 20n,
          completionRate: 8n,
          completionLimit: 10,
          budgets: budgetsOf(key),
          ...more,
        }),
      ),
    left: async (holder: BudgetHolder) => BigInt((await redis.get(allowanceKey(holder, MONTH.id))) ?? '0'),
    async figures() {
      const lefts = holders.map(async ([holder, amount]) =>
        amount === null ? null : BigInt((await redis.get(allowanceKey(holder, MONTH.id))) ?? '0'),
      )
      return { lefts: await Promise.all(lefts), ...(await holds.balance(accountId)) }
    },
  }
}

const admitted = (answers: AdmissionReply[]) => answers.filter(({ kind }) => kind === 'admitted').length

describe('calls that several budgets bound', () => {
  test('are refused by the tightest, which takes nothing from any of them', async () => {
    const cases = [
      { keys: [40n], member: 500n, account: 500n, refusing: 'key', left: 40n },
      { keys: [500n], member: 50n, account: 500n, refusing: 'member', left: 50n },
      { keys: [500n], member: 70n, account: 60n, refusing: 'account', left: 60n },
      { keys: [null], member: null, account: 0n, refusing: 'account', left: 0n },
      { keys: [500n], member: 500n, account: 500n, tag: 30n, refusing: 'tag', left: 30n },
    ]
    for (const { refusing, left, ...amounts } of cases) {
      const account = await budgeted(amounts)
      const before = await account.figures()
      const answer = await account.admit(0)
      expect(answer).toMatchObject({ kind: 'allowance-spent', availablePico: left })
      if (answer.kind === 'allowance-spent') expect(account.budgetsOf(0)[answer.budget]!.scope).toBe(refusing)
      expect(await account.figures()).toEqual(before)
    }
  })

  test('are not admitted before each is loaded, and it is said which are not', async () => {
    const account = await budgeted({ keys: [1_000n], member: 1_000n, account: 1_000n })
    const [key, , cap] = account.budgetsOf(0)
    await holds.forgetAllowance(key!, MONTH)
    await holds.forgetAllowance(cap!, MONTH)
    expect(await account.admit(0)).toMatchObject({ kind: 'allowance-unknown', budgets: [0, 2] })
    expect(await holds.balance(account.accountId)).toMatchObject({ heldPico: 0n })
  })

  test('of a thousand at once on a cap for ten, ten are admitted, over whatever keys', async () => {
    const account = await budgeted({ keys: [null, 5_000n, null], member: null, account: 10n * AMOUNT })
    const answers = await Promise.all(Array.from({ length: 1_000 }, (_, call) => account.admit(call % 3)))
    expect(admitted(answers)).toBe(10)
    expect(answers.filter(({ kind }) => kind === 'allowance-spent')).toHaveLength(990)
    expect(await account.left(accountBudget(account.accountId))).toBe(0n)
  })

  test.each(GROUP_SCOPES)(
    'of five hundred at once on a budget of a %s for ten, ten are admitted',
    async (scope) => {
      const { accountId } = await budgeted({ keys: [], member: null, account: null })
      const budget = { scope, accountId, id: TAG, period: MONTH }
      await redis.set(allowanceKey(budget, MONTH.id), String(10n * AMOUNT + 99n))
      const ids = Array.from({ length: 500 }, () => newCallId())
      const admit = (callId: CallId, index: number) =>
        holds.admit(
          admissionOf(accountId, {
            callId,
            keyId: `key_${index % 7}`,
            amountPico: AMOUNT,
            budgets: [budget],
          }),
        )
      const answers = await Promise.all(ids.map(admit))
      expect(admitted(answers)).toBe(10)
      const held = ids.filter((_, index) => answers[index]!.kind === 'admitted')
      // Their workers die, and what became of each is told twice.
      const outcomes = held.map((callId, index) => ({ callId, chargePico: BigInt(index) }))
      for (let time = 0; time < 2; time++)
        await Promise.all(
          outcomes.map((call) => holds.apply(accountId, { balancePico: 999_955n, version: 2n }, [call])),
        )
      expect(await holds.allowance(budget, MONTH)).toBe(10n * AMOUNT + 99n - 45n)
      expect(await holds.balance(accountId)).toMatchObject({ heldPico: 0n, availPico: 999_955n })
    },
  )

  test('get the tokens that the tightest affords where they set no limit', async () => {
    const account = await budgeted({ keys: [900n], member: 61n, account: 800n })
    expect(await account.admit(0, { flexible: true })).toMatchObject({ holdPico: 60n, completionLimit: 5 })
    expect((await account.figures()).lefts).toEqual([840n, 1n, 740n])
  })

  test('give back to each budget what was not charged: when the call ends, when it settles, once', async () => {
    const account = await budgeted({ keys: [900n], member: 700n, account: 800n })
    const { accountId } = account
    const [ended, settled] = [newCallId(), newCallId()]
    for (const callId of [ended, settled]) await account.admit(0, { callId })
    const afterwards = [900n, 700n, 800n].map((amount) => amount - 30n - 45n)
    for (let time = 0; time < 2; time++)
      await holds.endCall({ accountId, keyId: 'key_0', callId: ended, chargePico: 30n })
    for (let time = 0; time < 2; time++)
      await holds.apply(accountId, { balancePico: 999_925n, version: 2n }, [
        { callId: ended, chargePico: 30n },
        { callId: settled, chargePico: 45n },
      ])
    const { lefts, availPico, heldPico } = await account.figures()
    expect({ lefts, availPico, heldPico }).toEqual({ lefts: afterwards, availPico: 999_925n, heldPico: 0n })
  })

  test('a call that a lost Redis takes again has each of its budgets computed again', async () => {
    const account = await budgeted({ keys: [900n], member: 700n, account: 800n })
    const { accountId } = account
    const draws = drawText(account.budgetsOf(0))
    const hold = { callId: newCallId(), accountId, keyId: 'key_0', amountPico: AMOUNT, completionLimit: 1 }
    for (let time = 0; time < 2; time++)
      await holds.restore({ ...hold, draws, deadlineAt: Date.now() + 60_000, isOpen: true })
    for (const budget of account.budgetsOf(0)) expect(await holds.allowance(budget, MONTH)).toBeNull()
    expect(await account.admit(0)).toMatchObject({ kind: 'allowance-unknown', budgets: [0, 1, 2] })
  })

  test('never exceed any budget and give back exactly, however concurrent calls, ends, settlements and replays mix', async () => {
    const amount = fc.option(fc.integer({ min: 0, max: 900 }).map(BigInt), { nil: null })
    const step = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ do: fc.constant('storm' as const), size: fc.integer({ min: 1, max: 9 }) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constantFrom('end' as const, 'settle' as const),
          pick: fc.nat(),
          charge: fc.nat(130),
        }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('replay' as const), pick: fc.nat() }) },
    )
    const plan = fc.record({
      keys: fc.tuple(amount, amount),
      member: amount,
      account: amount,
      tag: amount,
      steps: fc.array(step, { maxLength: 15 }),
    })
    await fc.assert(
      fc.asyncProperty(plan, async ({ steps, ...amounts }) => {
        const account = await budgeted(amounts)
        const { accountId } = account
        let ledger = { balancePico: 1_000_000n, version: 1n }
        /** Of each call of a key what it holds, or was charged. */
        const taken: Array<{ key: number; callId: CallId; amount: bigint; isOpen: boolean }> = []
        const messages: Array<Parameters<typeof holds.apply>> = []
        for (const one of steps) {
          if (one.do === 'storm') {
            const calls = Array.from({ length: one.size }, (_, call) => ({
              key: call % 2,
              callId: newCallId(),
            }))
            const answers = await Promise.all(calls.map(({ key, callId }) => account.admit(key, { callId })))
            for (const [index, { kind }] of answers.entries())
              if (kind === 'admitted') taken.push({ ...calls[index]!, amount: AMOUNT, isOpen: true })
          } else if (one.do === 'replay') {
            if (messages.length > 0) await holds.apply(...messages[one.pick % messages.length]!)
          } else {
            const open = taken.filter(({ isOpen }) => isOpen)
            const call = open[one.pick % open.length]
            if (!call) continue
            const chargePico = BigInt(one.charge) < call.amount ? BigInt(one.charge) : call.amount
            call.amount = chargePico
            if (one.do === 'end') {
              await holds.endCall({ accountId, keyId: `key_${call.key}`, callId: call.callId, chargePico })
            } else {
              call.isOpen = false
              ledger = { balancePico: ledger.balancePico - chargePico, version: ledger.version + 1n }
              messages.push([accountId, ledger, [{ callId: call.callId, chargePico }]])
              await holds.apply(...messages.at(-1)!)
            }
          }
          const sum = (of: (key: number) => boolean) =>
            taken.reduce((total, call) => total + (of(call.key) ? call.amount : 0n), 0n)
          const all = sum(() => true)
          const rest = (limit: bigint | null, used: bigint) => (limit === null ? null : limit - used)
          const { lefts } = await account.figures()
          expect(lefts).toEqual([
            rest(
              amounts.keys[0],
              sum((key) => key === 0),
            ),
            rest(
              amounts.keys[1],
              sum((key) => key === 1),
            ),
            rest(amounts.member, all),
            rest(amounts.account, all),
            rest(amounts.tag, all),
          ])
          for (const left of lefts) if (left !== null) expect(left).toBeGreaterThanOrEqual(0n)
        }
      }),
      { numRuns: 60 },
    )
  })
})

test('holds of a gateway without budgets of members and accounts still count, end and settle', async () => {
  const account = await budgeted({ keys: [850n], member: null, account: null })
  const { accountId } = account
  const { prefix, record } = accountKeys(accountId)
  const [limited, free] = [newCallId(), newCallId()]
  // As earlier versions wrote them.
  await redis.del(record)
  await redis.hset(`${prefix}holds`, limited, `50:7:key_0:${MONTH.id}`, free, '100:7:key_0:')
  await redis.mset({ [`${prefix}held`]: '150', [`${prefix}avail`]: '999850', [record]: '1' })
  expect(await holds.inspect(accountId)).toMatchObject({ holdsPico: 150n, heldPico: 150n })
  await holds.endCall({ accountId, keyId: 'key_0', callId: limited, chargePico: 20n })
  expect((await account.figures()).lefts[0]).toBe(880n)
  const released = [limited, free].map((callId) => ({ callId, chargePico: 20n }))
  await holds.apply(accountId, { balancePico: 999_960n, version: 2n }, released)
  const { lefts, availPico, heldPico } = await account.figures()
  expect({ left: lefts[0], availPico, heldPico }).toEqual({ left: 880n, availPico: 999_960n, heldPico: 0n })
})

test.each([
  [[], null, null, null],
  [['key', 'tag', 'user'], 'd2035-05-06', null, null],
  [['key'], 'd2035-05-06', null, null],
  [['account'], null, null, 'm2035-05-01'],
  [['key', 'member', 'account'], 'd2035-05-06', 'm2035-05-01', 'm2035-05-01'],
] as const)('a hold says which budgets it was taken from: %s', (scopes, key, member, account) => {
  const periods = {
    key: 'd2035-05-06',
    member: MONTH.id,
    account: MONTH.id,
    tag: 'w2035-04-30',
    user: 'total',
  }
  const text = drawText(
    scopes.map((scope) => ({ scope, accountId: 'acct_1', id: 'acct_2', period: { id: periods[scope] } })),
  )
  expect([drawnPeriod(text, 'key'), drawnPeriod(text, 'member'), drawnPeriod(text, 'account')]).toEqual([
    key,
    member,
    account,
  ])
  const hasGroups = scopes.some((scope) => scope === 'tag')
  expect([drawnPeriod(text, 'tag'), drawnPeriod(text, 'user'), drawnPeriod(text, 'project')]).toEqual(
    hasGroups ? [periods.tag, periods.user, null] : [null, null, null],
  )
})
