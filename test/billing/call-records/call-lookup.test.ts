import { describe, expect, test } from 'vitest'
import { type CallLookupOptions, createCallLookup } from '../../../src/billing/call-records/call-lookup.ts'
import type { CallRecord } from '../../../src/billing/call-records/call-record.ts'

const WAIT_MS = 1_000
const CALL = { id: 'call', accountId: 'owner' } as CallRecord

/**
 * A lookup of a call whose hold closes at some look for it; it is settled then, or before. The clock goes on by
 * `msPerLook` with each look.
 */
function lookup({ closedAtLook = Number.POSITIVE_INFINITY, msPerLook = 0, isSettled = false }) {
  const seen = { looks: 0, reads: 0, asked: [] as string[][] }
  const options: CallLookupOptions = {
    calls: {
      find: async () => {
        seen.reads++
        return isSettled || seen.looks >= closedAtLook ? CALL : null
      },
    },
    areHeld: async (accountId, callIds) => {
      seen.looks++
      seen.asked.push([...callIds])
      return callIds.map(() => accountId === CALL.accountId && seen.looks < closedAtLook)
    },
    clock: () => seen.looks * msPerLook,
    waitMs: WAIT_MS,
  }
  return { find: createCallLookup(options), seen }
}

describe('a lookup of a call', () => {
  test('a lookup waits for a settlement in progress and reads the database before and after', async () => {
    const { find, seen } = lookup({ closedAtLook: 4 })
    expect(await find('call', 'owner')).toEqual({ kind: 'settled', call: CALL })
    expect(seen).toMatchObject({ looks: 4, reads: 2 })
  })

  test('says that a settlement does not come, once it has waited', async () => {
    const { find, seen } = lookup({ msPerLook: WAIT_MS / 2 })
    expect(await find('call', 'owner')).toEqual({ kind: 'unsettled' })
    expect(seen.looks).toBe(2)
  })

  test('finds a call whose hold closed since it was looked for first', async () => {
    const { find } = lookup({ closedAtLook: 1 })
    expect(await find('call', 'owner')).toEqual({ kind: 'settled', call: CALL })
  })

  test('waits for no call of another account, nor for any without an account', async () => {
    for (const requester of ['stranger', null])
      expect(await lookup({}).find('call', requester)).toEqual({ kind: 'unknown' })
    expect(await lookup({ isSettled: true }).find('call', 'stranger')).toEqual({ kind: 'unknown' })
  })

  test('runs its reads as its caller bids, and its wait beside them', async () => {
    const { find, seen } = lookup({ closedAtLook: 3 })
    const looksDuringReads: number[] = []
    await find('call', 'owner', async (read) => {
      const before = seen.looks
      const result = await read()
      looksDuringReads.push(seen.looks - before)
      return result
    })
    expect(looksDuringReads).toEqual([0, 0])
  })

  test('waits of one account look together', async () => {
    const { find, seen } = lookup({ closedAtLook: 2 })
    await Promise.all(['a', 'b', 'c'].map((id) => find(id, 'owner')))
    expect(seen.asked).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ])
  })
})
