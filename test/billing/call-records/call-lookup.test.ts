import { describe, expect, test } from 'vitest'
import {
  type CallLookupOptions,
  type CallRecord,
  createCallLookup,
} from '../../../src/billing/call-records/call-records.ts'

const WAIT_MS = 1_000
const CALL = { id: 'call', accountId: 'owner' } as CallRecord

/** A lookup to which a call is settled from some look on, and whose clock goes on by `msPerLook` with each. */
function lookup({ settledAtLook = Number.POSITIVE_INFINITY, msPerLook = 0, isHeld = true }) {
  let looks = 0
  const options: CallLookupOptions = {
    calls: { find: async () => (++looks >= settledAtLook ? CALL : null) },
    isHeld: async (accountId) => isHeld && accountId === CALL.accountId,
    clock: () => looks * msPerLook,
    waitMs: WAIT_MS,
  }
  return { find: createCallLookup(options), looks: () => looks }
}

describe('a lookup of a call', () => {
  test('waits for a settlement on its way', async () => {
    expect(await lookup({ settledAtLook: 4 }).find('call', 'owner')).toEqual({ kind: 'settled', call: CALL })
  })

  test('says that a settlement does not come, once it has waited', async () => {
    const { find, looks } = lookup({ msPerLook: WAIT_MS / 2 })
    expect(await find('call', 'owner')).toEqual({ kind: 'unsettled' })
    expect(looks()).toBe(3)
  })

  test('finds a call whose hold closed since it was looked for first', async () => {
    const closed = lookup({ settledAtLook: 2, isHeld: false })
    expect(await closed.find('call', 'owner')).toEqual({ kind: 'settled', call: CALL })
  })

  test('waits for no call of another account, nor for any without an account', async () => {
    for (const asker of ['stranger', null])
      expect(await lookup({ settledAtLook: 3 }).find('call', asker)).toEqual({ kind: 'unknown' })
    expect(await lookup({ settledAtLook: 1 }).find('call', 'stranger')).toEqual({ kind: 'unknown' })
  })
})
