import { expect, test } from 'vitest'
import { createAccountTurns } from '../../../src/calls/api/account-turns.ts'
import { createLoadBound } from '../../../src/calls/api/load-bound.ts'
import { createSharedRoom } from '../../../src/core/kernel/shared-room.ts'

/** Longer than any test runs. */
const PATIENCE_MS = 600_000

const placesOf = (max: number, few = 1) => createSharedRoom({ max, few })

test('calls that are being admitted count: while Redis hangs, no more come in than an instance may have', async () => {
  const places = placesOf(3)
  places.add('another account', 1)
  const load = createLoadBound(places)
  let admit: () => void = () => undefined
  const hanging = [0, 1].map(() =>
    load.enter(
      'account',
      () =>
        new Promise<void>((resolve) => {
          admit = resolve
        }),
    ),
  )
  await expect(load.enter('account', async () => undefined)).rejects.toMatchObject({ code: 'overloaded' })
  admit()
  await hanging[1]
  expect(load.entering).toBe(1)
  await load.enter('account', async () => undefined)
  places.add('another account', 1)
  await expect(load.enter('account', async () => undefined)).rejects.toMatchObject({ code: 'overloaded' })
})

test('an account with thousands of calls leaves places to accounts with few', async () => {
  const places = placesOf(5_000, 8)
  const load = createLoadBound(places)
  const enter = async (accountId: string) => {
    await load.enter(accountId, async () => undefined)
    // It waits for its answer now.
    places.add(accountId, 1)
  }
  const fill = async (accountId: string) => {
    let calls = 0
    try {
      for (; calls < 20_000; calls++) await enter(accountId)
    } catch (error) {
      expect(error).toMatchObject({ code: 'overloaded' })
    }
    return calls
  }
  expect(await fill('surge')).toBeGreaterThan(3_500)
  for (let account = 0; account < 25; account++) await fill(`another surge ${account}`)
  for (let call = 0; call < 8; call++) await enter('quiet')
})

test('an admission that fails makes room again', async () => {
  const load = createLoadBound(placesOf(1))
  await expect(load.enter('account', async () => Promise.reject(new Error('away')))).rejects.toThrow('away')
  expect(await load.enter('account', async () => 'admitted')).toBe('admitted')
})

test('a call whose turn does not come in time is refused, and counts no more', async () => {
  const turns = createAccountTurns({ atOnce: 1, perAccount: 1 })
  await turns.take('another account', PATIENCE_MS)
  const load = createLoadBound(placesOf(1), turns, 1)
  await expect(load.enter('account', async () => 'admitted')).rejects.toMatchObject({ code: 'overloaded' })
  expect(load.entering).toBe(0)
})

/** Turns whose order is noted. */
function startTurns(limits: { atOnce: number; perAccount: number }) {
  const turns = createAccountTurns(limits)
  const order: string[] = []
  const ends: Array<() => void> = []
  return {
    order,
    take: (accountId: string, waitMs = PATIENCE_MS) =>
      turns.take(accountId, waitMs).then((end) => {
        order.push(accountId)
        ends.push(end)
      }),
    async endOne() {
      // Whoever may come in has by then.
      await new Promise(setImmediate)
      ends.shift()?.()
      await new Promise(setImmediate)
    },
  }
}

test("a single call is let in by the next turn but one, however many of another account's wait before it", async () => {
  const { take, order, endOne } = startTurns({ atOnce: 2, perAccount: 2 })
  for (let call = 0; call < 100; call++) void take('flood')
  void take('quiet')
  await endOne()
  await endOne()
  expect(order).toEqual(['flood', 'flood', 'flood', 'quiet'])
})

test('an account has no more than its part at once, and others find room beside it', async () => {
  const { take, order, endOne } = startTurns({ atOnce: 3, perAccount: 2 })
  for (let call = 0; call < 4; call++) void take('flood')
  await take('quiet')
  expect(order).toEqual(['flood', 'flood', 'quiet'])
  await endOne()
  expect(order).toEqual(['flood', 'flood', 'quiet', 'flood'])
})

test('two floods take turns, each in order of arrival, and all are let in', async () => {
  const { take, order, endOne } = startTurns({ atOnce: 1, perAccount: 1 })
  for (const account of ['a', 'a', 'a', 'b', 'b', 'b']) void take(account)
  for (let call = 0; call < 6; call++) await endOne()
  expect(order).toEqual(['a', 'a', 'b', 'a', 'b', 'b'])
})

test('one that gives up waiting leaves its place to the next', async () => {
  const { take, order, endOne } = startTurns({ atOnce: 1, perAccount: 1 })
  await take('first')
  const gone = take('gone', 1)
  void take('last')
  await expect(gone).rejects.toMatchObject({ code: 'overloaded' })
  await endOne()
  expect(order).toEqual(['first', 'last'])
})

test('refuses calls while too many wait to be settled, and takes them again', async () => {
  let isFull = true
  const load = createLoadBound(placesOf(1), undefined, undefined, () => isFull)
  await expect(load.enter('acct_1', async () => 'in')).rejects.toMatchObject({
    code: 'overloaded',
    details: { retryAfterSeconds: 10 },
  })
  isFull = false
  expect(await load.enter('acct_1', async () => 'in')).toBe('in')
})
