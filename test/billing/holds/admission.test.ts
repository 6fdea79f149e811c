import { Worker } from 'bullmq'
import fc from 'fast-check'
import { pino } from 'pino'
import { beforeAll, describe, expect, test } from 'vitest'
import type { AdmissionRequest, AdmitToRedis } from '../../../src/billing/holds/admission.ts'
import { createHoldStore } from '../../../src/billing/holds/hold-store.ts'
import { keyBudget } from '../../../src/core/billing/budget.ts'
import type { CallEnvelope } from '../../../src/core/calls/call-job.ts'
import { queuePriority, queueTurn } from '../../../src/core/calls/fair-queue.ts'
import { type CallId, newCallId, newId } from '../../../src/core/kernel/ids.ts'
import { createCallJobs } from '../../../src/platform/queues/call-jobs.ts'
import { openClaimedJobs } from '../../../src/platform/queues/claimed-jobs.ts'
import { createDispatchQueue, DISPATCH_QUEUE, enqueueCall } from '../../../src/platform/queues/queues.ts'
import type { Redis } from '../../../src/platform/redis/redis.ts'
import {
  accountKeys,
  allowanceKey,
  conversationKey,
  listedAccounts,
  queuePrefix,
} from '../../../src/platform/redis/redis-keys.ts'
import { admissionOf, openCalls } from '../../helpers/open-hold.ts'
import { testRedis } from '../../helpers/resources.ts'

let redis: Redis
let admit: AdmitToRedis
let holds: ReturnType<typeof createHoldStore>

const server = testRedis()
beforeAll(() => {
  redis = server.connect('fail-fast')
  holds = createHoldStore(redis)
  admit = holds.admit
})

const request = (accountId: string, more: Partial<AdmissionRequest> = {}) =>
  admissionOf(accountId, {
    keyId: 'key_1',
    promptPico: 20n,
    completionRate: 8n,
    completionLimit: 10,
    tokens: 30,
    ...more,
  })

/** The limit of the key for good. */
const ofKey = (accountId: string) => ({ ...keyBudget(accountId, 'key_1'), period: { id: 'total' } })

async function funded(balancePico: bigint): Promise<string> {
  const accountId = newId('acct')
  await holds.load(accountId, { balancePico, version: 1n })
  return accountId
}

describe('the admission holds', () => {
  test('asks for the balance when Redis does not know it', async () => {
    expect(await admit(request(newId('acct')))).toMatchObject({ kind: 'balance-unknown' })
  })

  test('admits no call after its time, but knows one that it admitted before', async () => {
    const accountId = await funded(1_000n)
    const late = request(accountId, { admitBy: Date.now() - 1_000 })
    expect(await admit(late)).toMatchObject({ kind: 'too-late' })
    expect(await holds.balance(accountId)).toMatchObject({ availPico: 1_000n, heldPico: 0n })
    const inTime = request(accountId, { admitBy: Date.now() + 60_000 })
    expect(await admit(inTime)).toMatchObject({ kind: 'admitted' })
    expect(await admit({ ...inTime, admitBy: Date.now() - 1_000 })).toMatchObject({ kind: 'admitted' })
  })

  test('weighs the bodies of open calls, whichever instance admits them, until they end', async () => {
    const accountId = await funded(10_000n)
    const heavy = (keyId: string, bytes: number) =>
      request(accountId, { keyId, body: { bytes, keyMax: 100, accountMax: 150 } })
    const first = heavy('key_1', 60)
    expect(await admit(first)).toMatchObject({ kind: 'admitted' })
    expect(await admit(heavy('key_1', 41))).toMatchObject({ kind: 'too-heavy', scope: 'key' })
    expect(await admit(heavy('key_2', 91))).toMatchObject({ kind: 'too-heavy', scope: 'account' })
    expect(await admit(heavy('key_2', 90))).toMatchObject({ kind: 'admitted' })
    // A repeat of the first is the same call, and a light one weighs nothing.
    expect(await admit(first)).toMatchObject({ kind: 'admitted' })
    expect(await admit(request(accountId))).toMatchObject({ kind: 'admitted' })
    await holds.endCall({ accountId, keyId: 'key_1', callId: first.callId, chargePico: 1n })
    expect(await admit(heavy('key_1', 60))).toMatchObject({ kind: 'admitted' })
  })

  test('admits exactly as many concurrent calls as the balance affords', async () => {
    const accountId = await funded(1_000n)
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => admit(request(accountId))))
    const kinds = answers.map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'admitted')).toHaveLength(10)
    expect(kinds.filter((kind) => kind === 'insufficient-balance')).toHaveLength(990)
    expect(await holds.balance(accountId)).toEqual({ availPico: 0n, heldPico: 1_000n, version: 1n })
  })

  test('closes thousands of holds of one account at once, each once', async () => {
    const accountId = await funded(1_000_000n)
    const calls = Array.from({ length: 2_500 }, () => request(accountId))
    await Promise.all(calls.map((call) => admit(call)))
    const released = calls.map(({ callId }) => ({ callId, chargePico: 40n }))
    const ledger = { balancePico: 900_000n, version: 2n }
    await holds.apply(accountId, ledger, [...released, ...released.slice(0, 5)])
    expect(await holds.inspect(accountId)).toMatchObject({ availPico: 900_000n, heldPico: 0n, openHolds: 0 })
    await holds.apply(accountId, ledger, released)
    expect(await holds.balance(accountId)).toEqual({ availPico: 900_000n, heldPico: 0n, version: 2n })
  })

  test('says what is available and how many completion tokens it affords', async () => {
    const accountId = await funded(60n)
    expect(await admit(request(accountId))).toMatchObject({
      kind: 'insufficient-balance',
      availablePico: 60n,
      affordableTokens: 5,
    })
    const poor = await funded(19n)
    expect(await admit(request(poor))).toMatchObject({ availablePico: 19n, affordableTokens: 0 })
  })

  test('shortens a limit the client did not set to what the balance affords, and holds just that', async () => {
    const accountId = await funded(60n)
    expect(await admit(request(accountId, { flexible: true }))).toMatchObject({
      kind: 'admitted',
      holdPico: 60n,
      completionLimit: 5,
    })
    expect(await admit(request(accountId, { flexible: true }))).toMatchObject({
      kind: 'insufficient-balance',
    })
  })

  test('a balance beyond 2^53 is exact', async () => {
    const balance = 9_007_199_254_740_993n * 1_000n
    const accountId = await funded(balance)
    await admit(request(accountId, { amountPico: 1n }))
    expect((await holds.balance(accountId)).availPico).toBe(balance - 1n)
  })

  test('beyond 2^53 it affords what it says, and a shortened limit is held at no less than it costs', async () => {
    const rate = 9_007_199_254_741n
    for (const tokens of [1_001n, 2_000n, 876_543n])
      for (const missing of [0n, 1n, 7n]) {
        const balance = tokens * rate - missing
        const ask = {
          promptPico: 0n,
          completionRate: rate,
          completionLimit: 1_000_000,
          amountPico: 1_000_000n * rate,
        }
        const accountId = await funded(balance)
        const refused = await admit(request(accountId, ask))
        if (refused.kind !== 'insufficient-balance') throw new Error(refused.kind)
        const { affordableTokens } = refused
        expect(BigInt(affordableTokens) * rate).toBeLessThanOrEqual(balance)
        const admitted = await admit(request(accountId, { ...ask, flexible: true }))
        if (admitted.kind !== 'admitted') throw new Error(admitted.kind)
        expect(admitted.completionLimit).toBe(affordableTokens)
        expect(admitted.completionLimit).toBeGreaterThanOrEqual(Number(tokens) - 2)
        expect(admitted.holdPico).toBeGreaterThanOrEqual(BigInt(affordableTokens) * rate)
      }
  })

  test('answers a repeated hold id the same and holds once', async () => {
    const accountId = await funded(1_000n)
    const ask = request(accountId)
    const first = await admit(ask)
    const second = await admit(ask)
    expect(second).toMatchObject({ kind: 'admitted', holdPico: 100n, completionLimit: 10 })
    expect(first.kind).toBe('admitted')
    expect((await holds.balance(accountId)).heldPico).toBe(100n)
  })

  test('limits requests per minute, counting admitted calls only', async () => {
    const accountId = await funded(250n)
    const ask = () => admit(request(accountId, { requestsPerMinute: 4 }))
    expect((await ask()).kind).toBe('admitted')
    expect((await ask()).kind).toBe('admitted')
    for (let refused = 0; refused < 5; refused++) expect((await ask()).kind).toBe('insufficient-balance')
    await holds.apply(accountId, { balancePico: 1_000n, version: 2n }, [])
    expect((await ask()).kind).toBe('admitted')
    expect((await ask()).rate.remainingRequests).toBe(0)
    const limited = await ask()
    expect(limited.kind).toBe('rate-limited')
    if (limited.kind !== 'rate-limited') return
    expect(limited.retryAfterMs).toBeGreaterThan(0)
    expect(limited.retryAfterMs).toBeLessThanOrEqual(120_000)
  })

  test('limits tokens per minute', async () => {
    const accountId = await funded(1_000n)
    const ask = () => admit(request(accountId, { tokensPerMinute: 70 }))
    expect((await ask()).kind).toBe('admitted')
    expect((await ask()).rate.remainingTokens).toBe(10)
    expect((await ask()).kind).toBe('rate-limited')
  })

  test('limits concurrent calls of a key and frees the place when a call ends', async () => {
    const accountId = await funded(1_000n)
    const first = request(accountId, { concurrentCalls: 1 })
    expect((await admit(first)).kind).toBe('admitted')
    expect((await admit(request(accountId, { concurrentCalls: 1 }))).kind).toBe('too-many-open')
    await holds.endCall({ accountId, keyId: 'key_1', callId: first.callId, chargePico: 0n })
    expect((await admit(request(accountId, { concurrentCalls: 1 }))).kind).toBe('admitted')
  })

  test('limits concurrent calls of an account over its keys, and frees the slot when a call ends or is settled', async () => {
    const accountId = await funded(1_000n)
    const ask = (keyId: string) => request(accountId, { keyId, accountConcurrentCalls: 2 })
    const [first, second] = [ask('key_1'), ask('key_2')]
    expect((await admit(first)).kind).toBe('admitted')
    expect((await admit(second)).kind).toBe('admitted')
    expect(await admit(ask('key_2'))).toMatchObject({ kind: 'too-many-open', scope: 'account' })
    await holds.endCall({ accountId, keyId: 'key_1', callId: first.callId, chargePico: 10n })
    expect((await admit(ask('key_3'))).kind).toBe('admitted')
    expect(await admit(ask('key_1'))).toMatchObject({ kind: 'too-many-open', scope: 'account' })
    await holds.apply(accountId, { balancePico: 990n, version: 2n }, [
      { callId: second.callId, chargePico: 10n },
    ])
    expect((await admit(ask('key_1'))).kind).toBe('admitted')
  })

  test('takes the slots of a call again that Redis lost', async () => {
    const accountId = await funded(1_000n)
    const call = request(accountId, { accountConcurrentCalls: 1 })
    await holds.restore({
      ...call,
      draws: '',
      completionLimit: 10,
      deadlineAt: Date.now() + 60_000,
      isOpen: true,
    })
    const another = () => admit(request(accountId, { keyId: 'key_2', accountConcurrentCalls: 1 }))
    expect(await another()).toMatchObject({ kind: 'too-many-open', scope: 'account' })
    await holds.endCall({ accountId, keyId: 'key_1', callId: call.callId, chargePico: 0n })
    expect((await another()).kind).toBe('admitted')
  })

  test('limits requests per minute of an account over its keys, and names the limit that leaves fewer', async () => {
    const accountId = await funded(1_000n)
    const ask = (keyId: string, requestsPerMinute: number) =>
      admit(request(accountId, { keyId, requestsPerMinute, accountRequestsPerMinute: 4 }))
    expect((await ask('key_1', 3)).rate).toMatchObject({ limitRequests: 3, remainingRequests: 2 })
    expect((await ask('key_2', 9)).rate).toMatchObject({ limitRequests: 4, remainingRequests: 2 })
    expect((await ask('key_2', 9)).rate).toMatchObject({ limitRequests: 4, remainingRequests: 1 })
    expect((await ask('key_1', 3)).rate).toMatchObject({ limitRequests: 4, remainingRequests: 0 })
    expect(await ask('key_3', 9)).toMatchObject({ kind: 'rate-limited', scope: 'account' })
    const own = await funded(1_000n)
    const alone = () => admit(request(own, { requestsPerMinute: 1, accountRequestsPerMinute: 4 }))
    expect((await alone()).kind).toBe('admitted')
    expect(await alone()).toMatchObject({ kind: 'rate-limited', scope: 'key' })
  })

  test('keeps a key within its allowance and gives back what was not charged', async () => {
    const accountId = await funded(10_000n)
    const limited = () => request(accountId, { budgets: [ofKey(accountId)] })
    expect((await admit(limited())).kind).toBe('allowance-unknown')
    await redis.set(allowanceKey(keyBudget(accountId, 'key_1'), 'total'), '150')
    const first = limited()
    expect((await admit(first)).kind).toBe('admitted')
    expect(await admit(limited())).toMatchObject({ kind: 'allowance-spent', availablePico: 50n })
    await holds.apply(accountId, { balancePico: 9_970n, version: 2n }, [
      { callId: first.callId, chargePico: 30n },
    ])
    expect(await redis.get(allowanceKey(keyBudget(accountId, 'key_1'), 'total'))).toBe('120')
    expect((await admit(limited())).kind).toBe('admitted')
    expect((await holds.balance(accountId)).availPico).toBe(9_870n)
  })

  test('gives back what a call held beyond its charge as soon as it ends, once, and never raises a hold', async () => {
    const accountId = await funded(1_000n)
    const left = allowanceKey(keyBudget(accountId, 'key_1'), 'total')
    await redis.set(left, '500')
    const call = request(accountId, { budgets: [ofKey(accountId)] })
    await admit(call)
    const end = (chargePico: bigint) =>
      holds.endCall({ accountId, keyId: 'key_1', callId: call.callId, chargePico })
    const state = async () => ({ ...(await holds.balance(accountId)), left: await redis.get(left) })
    const ended = { availPico: 970n, heldPico: 30n, version: 1n, left: '470' }
    await end(30n)
    expect(await state()).toEqual(ended)
    for (const charge of [30n, 31n, 100n, 1_000n]) {
      await end(charge)
      expect(await state()).toEqual(ended)
    }
    const settled = { availPico: 970n, heldPico: 0n, version: 2n, left: '470' }
    for (let time = 0; time < 2; time++) {
      await holds.apply(accountId, { balancePico: 970n, version: 2n }, [
        { callId: call.callId, chargePico: 30n },
      ])
      expect(await state()).toEqual(settled)
    }
    await end(0n)
    expect(await state()).toEqual(settled)
  })

  test('shrinks the hold of a call that cost nothing to zero, exactly also beyond 2^53', async () => {
    const balance = 9_007_199_254_740_993n * 1_000n
    const accountId = await funded(balance)
    const [free, paid] = [1n, 3n].map((more) => request(accountId, { amountPico: 2n ** 53n + more }))
    await admit(free!)
    await admit(paid!)
    const end = (callId: CallId, chargePico: bigint) =>
      holds.endCall({ accountId, keyId: 'key_1', callId, chargePico })
    await end(free!.callId, 0n)
    await end(paid!.callId, 2n ** 53n + 1n)
    const heldPico = 2n ** 53n + 1n
    expect(await holds.balance(accountId)).toEqual({ availPico: balance - heldPico, heldPico, version: 1n })
  })

  test('ends a call of an account that Redis has no balance of without making one up', async () => {
    const accountId = await funded(1_000n)
    const call = request(accountId)
    await admit(call)
    await redis.hdel(accountKeys(accountId).record, 'avail')
    await holds.endCall({ accountId, keyId: 'key_1', callId: call.callId, chargePico: 10n })
    expect(await holds.balance(accountId)).toEqual({ availPico: null, heldPico: 10n, version: 1n })
    await holds.load(accountId, { balancePico: 1_000n, version: 1n })
    expect(await holds.balance(accountId)).toMatchObject({ availPico: 990n, heldPico: 10n })
  })

  describe('an account whose keys an earlier version wrote', () => {
    const [deadline, callIds] = [Date.now() + 60_000, [newCallId(), newCallId(), newCallId()]]
    const [running, ended, heavy] = callIds as [CallId, CallId, CallId]
    /** 1,000 at version 4, with two open calls, of which one has a heavy body, and one that waits for its settlement. */
    async function formerAccount() {
      const accountId = newId('acct')
      const { prefix, record } = accountKeys(accountId)
      await redis.mset({ [`${prefix}avail`]: '400', [`${prefix}held`]: '600', [record]: '4' })
      await redis.hset(`${prefix}holds`, {
        [running]: '300:7:key_1:',
        [ended]: '100:7:key_1:',
        [heavy]: '200:7:key_1:m2035-05-01',
      })
      await redis.zadd(`${prefix}expiry`, deadline, running, deadline, ended, deadline, heavy)
      for (const calls of [`${prefix}open`, `${prefix}key:key_1:open`])
        await redis.zadd(calls, deadline, running, deadline, heavy)
      await redis.hset(`${prefix}bodies`, heavy, 5_000)
      await redis.sadd(listedAccounts(0), accountId)
      return { accountId, prefix, record }
    }
    const converted = { availPico: 400n, heldPico: 600n, version: 4n, openHolds: 3, holdsPico: 600n }

    test.each<[string, (accountId: string) => Promise<unknown>]>([
      ['a look at it', (accountId) => holds.inspect(accountId)],
      ['a reading of its balance', (accountId) => holds.balance(accountId)],
      ['a reading of its holds', (accountId) => holds.openHolds(accountId)],
      ['a list of versions', (accountId) => holds.versions([accountId])],
      ['a repeat of a settlement', (accountId) => holds.release(accountId, newCallId())],
      ['a refused call', (accountId) => admit(request(accountId, { amountPico: 500n }))],
    ])('has one record after %s, once, with its open calls', async (_, touch) => {
      const { accountId, prefix, record } = await formerAccount()
      await touch(accountId)
      expect(await redis.keys(`${prefix}*`)).toEqual([record])
      expect(await holds.inspect(accountId)).toEqual(converted)
      expect(await redis.ttl(record)).toBe(-1)
      expect([await openCalls(redis, accountId), await openCalls(redis, accountId, 'key_1')]).toEqual([2, 2])
      const hold = (callId: CallId, amountPico: bigint, draws = '') => ({
        ...{ callId, amountPico, draws, keyId: 'key_1', deadlineAt: deadline },
      })
      const found = await holds.openHolds(accountId)
      expect(found.sort((a, b) => Number(a.amountPico - b.amountPico))).toEqual([
        hold(ended, 100n),
        hold(heavy, 200n, 'm2035-05-01'),
        hold(running, 300n),
      ])
    })

    test('admits, ends and settles calls as if it had always had its record', async () => {
      const { accountId } = await formerAccount()
      const bounded = { accountConcurrentCalls: 3, concurrentCalls: 3 }
      const heavyToo = { bytes: 100, keyMax: 5_099, accountMax: 9_000 }
      expect(await admit(request(accountId, { ...bounded, body: heavyToo }))).toMatchObject({
        kind: 'too-heavy',
        scope: 'key',
      })
      const last = request(accountId, bounded)
      expect(await admit(last)).toMatchObject({ kind: 'admitted', accountOpenCalls: 3 })
      expect(await admit(request(accountId, bounded))).toMatchObject({ kind: 'too-many-open', scope: 'key' })
      await holds.endCall({ accountId, keyId: 'key_1', callId: running, chargePico: 20n })
      expect(await openCalls(redis, accountId)).toBe(2)
      const released = [running, ended, heavy, last.callId].map((callId) => ({ callId, chargePico: 20n }))
      await holds.apply(accountId, { balancePico: 920n, version: 8n }, released)
      expect(await holds.inspect(accountId)).toMatchObject({ availPico: 920n, heldPico: 0n, openHolds: 0 })
      expect(await openCalls(redis, accountId)).toBe(0)
    })

    test('a process of that version changes nothing of it any more', async () => {
      const { accountId, prefix, record } = await formerAccount()
      await holds.inspect(accountId)
      // What such a process reads first when it loads a balance, or applies a settlement.
      await expect(redis.get(record)).rejects.toThrow('WRONGTYPE')
      expect(await redis.exists(`${prefix}avail`)).toBe(0)
      expect(await holds.inspect(accountId)).toEqual(converted)
    })

    test('whose balance cache was about to expire still does', async () => {
      const accountId = newId('acct')
      const { prefix, record } = accountKeys(accountId)
      for (const [key, value] of [
        [`${prefix}avail`, '5'],
        [`${prefix}held`, '0'],
        [record, '2'],
      ] as const)
        await redis.set(key, value, 'EX', 1_000)
      expect(await holds.balance(accountId)).toEqual({ availPico: 5n, heldPico: 0n, version: 2n })
      expect(await redis.ttl(record)).toBeGreaterThan(900)
    })
  })

  test('a look at an account forgets the use of keys without calls, and of no other key', async () => {
    const accountId = await funded(1_000n)
    const running = request(accountId, { keyId: 'key_2' })
    await admit(running)
    const { record } = accountKeys(accountId)
    await redis.hset(record, {
      'use:key_1': '1:5:5:0:0 0 0',
      'use:key_2': '1:5:5:0:0 1 0',
      'use:key_3': ' 0 0',
    })
    const ended = request(accountId, { keyId: 'key_4' })
    await admit(ended)
    await holds.endCall({ accountId, keyId: 'key_4', callId: ended.callId, chargePico: 0n })
    await holds.inspect(accountId)
    const fields = await redis.hkeys(record)
    expect(fields.filter((field) => field.startsWith('use:')).sort()).toEqual(['use:key_2', 'use:key_4'])
    expect(await openCalls(redis, accountId, 'key_2')).toBe(1)
  })

  test('a call whose end was lost keeps its place until its deadline, and no longer', async () => {
    const accountId = await funded(1_000n)
    const one = { concurrentCalls: 1, accountConcurrentCalls: 1 }
    await admit(request(accountId, { ...one, holdLifetimeMs: 60_000 }))
    expect(await admit(request(accountId, one))).toMatchObject({ kind: 'too-many-open' })
    const { record } = accountKeys(accountId)
    const fields = Object.entries(await redis.hgetall(record)).map(([field, value]) => [
      field,
      field === 'due' ? '1' : value.replace(/:\d{13}:/, ':1:'),
    ])
    await redis.hset(record, Object.fromEntries(fields))
    expect(await admit(request(accountId, one))).toMatchObject({ kind: 'admitted', accountOpenCalls: 1 })
    expect(await holds.inspect(accountId)).toMatchObject({ openHolds: 2 })
  })

  test('keeps avail = base − held through any order of holds, ends, settlements, duplicates and late messages', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('hold' as const), amount: fc.integer({ min: 1, max: 400 }) }),
      fc.record({ do: fc.constant('settle' as const), pick: fc.nat(), charge: fc.nat(100) }),
      fc.record({ do: fc.constant('end' as const), pick: fc.nat(), charge: fc.nat(100) }),
      fc.record({ do: fc.constant('replay' as const), pick: fc.nat() }),
      fc.record({ do: fc.constant('credit' as const), amount: fc.integer({ min: 1, max: 500 }) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const accountId = await funded(1_000n)
        const open: Array<{ callId: CallId; amount: bigint }> = []
        const messages: Array<Parameters<typeof holds.apply>> = []
        let ledger = { balancePico: 1_000n, version: 1n }
        let heldPico = 0n
        for (const one of steps) {
          if (one.do === 'hold') {
            const ask = request(accountId, { amountPico: BigInt(one.amount) })
            const { kind } = await admit(ask)
            expect(kind).toBe(
              ledger.balancePico - heldPico >= BigInt(one.amount) ? 'admitted' : 'insufficient-balance',
            )
            if (kind !== 'admitted') continue
            open.push({ callId: ask.callId, amount: BigInt(one.amount) })
            heldPico += BigInt(one.amount)
          } else if (one.do === 'end' && open.length > 0) {
            const hold = open[one.pick % open.length]!
            const chargePico = BigInt(one.charge)
            await holds.endCall({ accountId, keyId: 'key_1', callId: hold.callId, chargePico })
            if (chargePico >= hold.amount) continue
            heldPico -= hold.amount - chargePico
            hold.amount = chargePico
          } else if (one.do === 'settle' && open.length > 0) {
            const [hold] = open.splice(one.pick % open.length, 1)
            const charge = BigInt(one.charge) < hold!.amount ? BigInt(one.charge) : hold!.amount
            ledger = { balancePico: ledger.balancePico - charge, version: ledger.version + 1n }
            heldPico -= hold!.amount
            messages.push([accountId, ledger, [{ callId: hold!.callId, chargePico: charge }]])
            await holds.apply(...messages.at(-1)!)
          } else if (one.do === 'replay' && messages.length > 0) {
            await holds.apply(...messages[one.pick % messages.length]!)
          } else if (one.do === 'credit') {
            ledger = { balancePico: ledger.balancePico + BigInt(one.amount), version: ledger.version + 1n }
            await holds.apply(accountId, ledger, [])
          }
          expect(await holds.balance(accountId)).toEqual({
            availPico: ledger.balancePico - heldPico,
            heldPico,
            version: ledger.version,
          })
        }
      }),
      { numRuns: 60 },
    )
  })

  test('settles out of order: an older balance arriving late only closes its hold', async () => {
    const accountId = await funded(1_000n)
    const [first, second] = [request(accountId), request(accountId)]
    await admit(first)
    await admit(second)
    await holds.apply(accountId, { balancePico: 900n, version: 3n }, [
      { callId: second.callId, chargePico: 50n },
    ])
    await holds.apply(accountId, { balancePico: 950n, version: 2n }, [
      { callId: first.callId, chargePico: 50n },
    ])
    expect(await holds.balance(accountId)).toMatchObject({ availPico: 900n, heldPico: 0n })
  })
})

describe('a job that comes with its call', () => {
  const SETTINGS = { accountQueueShare: 2, queueWaitMs: 15_000, flexWaitMs: 600_000 }
  const NOW = 1_800_000_000_000
  const CLAIM = { token: 'worker', lockMs: 60_000 }
  const UNCLAIMED = { kind: 'admitted', isEnqueued: false, isClaimed: false }
  const LOCK = { lockDuration: CLAIM.lockMs }
  const turn = queueTurn(NOW, SETTINGS)
  const sealed = (callId: string) => ({ envelope: { id: callId } as CallEnvelope, sealedBody: 'sealed' })
  const withJob = (
    accountId: string,
    more: Partial<AdmissionRequest> = {},
    claim?: NonNullable<AdmissionRequest['job']>['claim'],
  ) => {
    const call = request(accountId, more)
    return { ...call, job: { data: JSON.stringify(sealed(call.callId)), turn, nowMs: NOW, claim } }
  }

  /** Every key of the dispatch queue but its events, which nobody reads, and what they are counted by. */
  async function keysOfQueue(): Promise<unknown> {
    const prefix = `${queuePrefix(0)}:${DISPATCH_QUEUE}:`
    const read: Record<string, unknown> = {}
    for (const key of (await redis.keys(`${prefix}*`)).sort()) {
      const name = key.slice(prefix.length)
      const type = await redis.type(key)
      if (['events', 'id', 'meta'].includes(name)) continue
      if (type === 'hash') {
        const { opts, timestamp: _, ...fields } = await redis.hgetall(key)
        read[name] = { ...fields, opts: JSON.parse(opts!) }
      } else if (type === 'list') read[name] = await redis.lrange(key, 0, -1)
      else if (type === 'zset') read[name] = await redis.zrange(key, '0', '-1', 'WITHSCORES')
      else read[name] = await redis.get(key)
    }
    return read
  }

  /** Without the moment of each claim, the order counter of priorities and what a claim leaves of the marker. */
  const withoutTimes = (queue: unknown) =>
    Object.entries(queue as object).flatMap(([name, value]) => {
      if (['pc', 'marker'].includes(name)) return []
      const { processedOn, ...fields } = typeof value === 'object' ? value : {}
      expect(processedOn === undefined || Number(processedOn) > 0).toBe(true)
      return [[name, typeof value === 'object' && !Array.isArray(value) ? fields : value]]
    })

  test('leaves the queue as BullMQ does when it is added by itself, with the priority of its turn', async () => {
    await redis.flushall()
    const accountId = await funded(10_000n)
    const queue = createDispatchQueue(redis)
    const asked = Array.from({ length: 5 }, () => withJob(accountId))
    const priorities: number[] = []
    for (const call of asked) {
      const answer = await admit(call)
      if (answer.kind !== 'admitted') throw new Error(answer.kind)
      expect(answer.isEnqueued).toBe(true)
      priorities.push(queuePriority(answer.accountOpenCalls, turn))
    }
    const ours = await keysOfQueue()
    expect(priorities.slice(0, 2)).toEqual([0, 0])
    expect(new Set(priorities.slice(2)).size).toBe(3)

    await redis.flushall()
    for (const [index, { callId }] of asked.entries()) {
      const { envelope, sealedBody } = sealed(callId)
      await enqueueCall(queue, envelope, sealedBody, priorities[index]!)
    }
    expect(ours).toEqual(await keysOfQueue())
    await queue.close()
  })

  test('is enqueued once, however often the step is sent, also after the call has ended', async () => {
    await redis.flushall()
    const accountId = await funded(10_000n)
    const call = withJob(accountId)
    expect(await admit(call)).toMatchObject({ kind: 'admitted', isEnqueued: true, holdPico: 100n })
    expect(await admit(call)).toMatchObject({ kind: 'admitted', isEnqueued: true, holdPico: 100n })
    const jobs = createCallJobs(redis)
    expect(await jobs.withdraw(call.callId)).toBe('withdrawn')
    await holds.release(accountId, call.callId)
    expect(await admit(call)).toMatchObject({ kind: 'admitted', isEnqueued: true, holdPico: 100n })
    expect(await jobs.exists(call.callId)).toBe(false)
    expect(await holds.balance(accountId)).toMatchObject({ availPico: 10_000n, heldPico: 0n })
    expect(await holds.wasEnqueued({ id: call.callId, accountId })).toBe(true)
  })

  test('is not enqueued for a call that is refused, or granted less than it asks for', async () => {
    const accountId = await funded(60n)
    const refused = withJob(accountId)
    expect(await admit(refused)).toMatchObject({ kind: 'insufficient-balance' })
    const shortened = withJob(accountId, { flexible: true })
    expect(await admit(shortened)).toMatchObject({ kind: 'admitted', isEnqueued: false, completionLimit: 5 })
    for (const { callId } of [refused, shortened]) {
      expect(await createCallJobs(redis).exists(callId)).toBe(false)
      expect(await holds.wasEnqueued({ id: callId, accountId })).toBe(false)
    }
  })

  test('is claimed for a worker that is named, and leaves the queue as BullMQ does after its claim', async () => {
    await redis.flushall()
    const accountId = await funded(10_000n)
    const queue = createDispatchQueue(redis)
    const asked = Array.from({ length: 3 }, () => withJob(accountId, {}, CLAIM))
    const priorities: number[] = []
    for (const call of asked) {
      const answer = await admit(call)
      if (answer.kind !== 'admitted') throw new Error(answer.kind)
      expect(answer).toMatchObject({ isEnqueued: true, isClaimed: true })
      // Sent again, since the answer was lost.
      expect(await admit(call)).toMatchObject({ isEnqueued: true, isClaimed: true })
      priorities.push(queuePriority(answer.accountOpenCalls, turn))
    }
    expect(new Set(priorities).size).toBe(2)
    const ours = await keysOfQueue()

    await redis.flushall()
    const worker = new Worker(DISPATCH_QUEUE, null, { connection: redis, prefix: queuePrefix(0), ...LOCK })
    for (const [index, { callId }] of asked.entries()) {
      const { envelope, sealedBody } = sealed(callId)
      await enqueueCall(queue, envelope, sealedBody, priorities[index]!)
      expect((await worker.getNextJob(CLAIM.token, { block: false }))?.id).toBe(callId)
    }
    // What BullMQ does not know: who claimed it.
    for (const { callId } of asked)
      await redis.hset(`${queuePrefix(0)}:${DISPATCH_QUEUE}:${callId}`, 'by', CLAIM.token)
    const theirs = await keysOfQueue()
    expect(withoutTimes(ours)).toEqual(withoutTimes(theirs))
    await worker.close(true)
    await queue.close()
  })

  test('is left to the caller where another call waits, and where the queue is paused, though a worker is named', async () => {
    await redis.flushall()
    const accountId = await funded(10_000n)
    const queue = createDispatchQueue(redis)
    await queue.pause()
    expect(await admit(withJob(accountId, {}, CLAIM))).toMatchObject(UNCLAIMED)
    await admit(withJob(accountId))
    await queue.resume()
    expect(await admit(withJob(accountId, {}, CLAIM))).toMatchObject(UNCLAIMED)
    expect(await queue.getActiveCount()).toBe(0)
    expect(await queue.getWaitingCount()).toBe(1)
    await queue.drain()
    expect(await admit(withJob(accountId, {}, CLAIM))).toMatchObject({ isClaimed: true })
    // One beyond the account's share waits by its priority.
    await admit(withJob(accountId))
    expect(await admit(withJob(accountId, {}, CLAIM))).toMatchObject(UNCLAIMED)
    await queue.close()
  })

  test('a job that is added while the queue is paused is claimed by a waiting worker when it is resumed', async () => {
    await redis.flushall()
    const queue = createDispatchQueue(redis)
    const blocking = server.connect('wait')
    const jobs = openClaimedJobs(DISPATCH_QUEUE, {
      ...{ redis, blocking, lockMs: 60_000, waitSeconds: 1 },
      ...{ logger: pino({ level: 'silent' }), clock: Date.now },
    })
    await queue.pause()
    const accountId = await funded(1_000n)
    const [first, second] = [withJob(accountId), withJob(accountId)]
    for (const call of [first, second]) expect(await admit(call)).toMatchObject({ isEnqueued: true })
    expect(await jobs.waitAndClaim()).toEqual({ job: null, isMore: false })
    await queue.resume()
    expect(await jobs.waitAndClaim()).toMatchObject({ job: { id: first.callId }, isMore: true })
    expect(await jobs.waitAndClaim()).toMatchObject({ job: { id: second.callId }, isMore: false })
    await jobs.close()
    await queue.close()
  })
})

describe('the offer that a conversation is on', () => {
  const targets = ['p/a', '', 'p/c']
  const first = async (accountId: string, affinity: AdmissionRequest['affinity']) => {
    const reply = await admit(request(accountId, { affinity }))
    return reply.kind === 'admitted' ? reply.first : reply.kind
  }

  test('is the first of its plan, and stays while it may, of each account for itself', async () => {
    const [one, other] = [await funded(10_000n), await funded(10_000n)]
    expect(await first(one, { conversation: 7, targets })).toBe(0)
    expect(await first(one, { conversation: 7, targets: ['p/c', '', 'p/a'] })).toBe(2)
    expect(await first(one, { conversation: 8, targets: ['p/c', '', 'p/a'] })).toBe(0)
    expect(await first(other, { conversation: 7, targets: ['p/c', '', 'p/a'] })).toBe(0)
    expect(await first(one, { conversation: 7, targets: ['p/c', '', 'p/b'] })).toBe(0)
    expect(await first(one, { conversation: 7, targets })).toBe(2)
  })

  test('is forgotten ten minutes after its last call, and chosen again after an hour', async () => {
    const accountId = await funded(10_000n)
    const key = conversationKey(accountId, 7)
    expect(await first(accountId, { conversation: 7, targets })).toBe(0)
    await redis.pexpire(key, 5_000)
    expect(await first(accountId, { conversation: 7, targets })).toBe(0)
    expect(await redis.pttl(key)).toBeGreaterThan(590_000)
    await redis.set(key, `${Date.now() - 3_599_000} p/c`)
    expect(await first(accountId, { conversation: 7, targets })).toBe(2)
    await redis.set(key, `${Date.now() - 3_601_000} p/c`)
    expect(await first(accountId, { conversation: 7, targets })).toBe(0)
    expect(await redis.get(key)).toMatch(/ p\/a$/)
  })

  test('is in the job of its call', async () => {
    const accountId = await funded(10_000n)
    await redis.set(conversationKey(accountId, 7), `${Date.now()} p/c`)
    const job = {
      data: '{"envelope":{},"sealedBody":"x"}',
      turn: queueTurn(Date.now(), { accountQueueShare: 2, queueWaitMs: 15_000, flexWaitMs: 600_000 }),
      nowMs: Date.now(),
    }
    const call = request(accountId, { job, affinity: { conversation: 7, targets } })
    expect(await admit(call)).toMatchObject({ kind: 'admitted', isEnqueued: true, first: 2 })
    const data = await redis.hget(`${queuePrefix(0)}:${DISPATCH_QUEUE}:${call.callId}`, 'data')
    expect(JSON.parse(data!)).toEqual({ envelope: {}, sealedBody: 'x', first: 2 })
  })
})
