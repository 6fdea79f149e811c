import { expect, test } from 'vitest'
import { HOUR_MS } from '../../src/core/kernel/time.ts'
import { createRefusalCounter } from '../../src/operators/refusal-counter.ts'
import { createRefusalStore, type RefusalCount } from '../../src/operators/refusal-store.ts'
import { testLedger } from '../helpers/resources.ts'

const NOON = Date.UTC(2027, 0, 1, 12)
const WEB = { accountId: 'acct_1', keyId: 'key_1' }
const ledger = testLedger()

function counting(apartMax?: number) {
  const added: RefusalCount[][] = []
  let isAway = false
  let nowMs = NOON
  const counter = createRefusalCounter({
    store: {
      async add(counts) {
        if (isAway) throw new Error('away')
        added.push(counts.map((count) => ({ ...count })))
      },
    },
    clock: () => nowMs,
    logger: { warn: () => undefined },
    ...(apartMax !== undefined && { apartMax }),
  })
  return {
    counter,
    added,
    set: (state: { isAway?: boolean; nowMs?: number }) => {
      isAway = state.isAway ?? isAway
      nowMs = state.nowMs ?? nowMs
    },
  }
}

test('refusals are counted in memory and written in one statement, and lost by no failure of it', async () => {
  const { counter, added, set } = counting()
  counter.note(WEB, 'model_not_found')
  counter.note(null, 'invalid_api_key')
  set({ isAway: true })
  await expect(counter.flush()).rejects.toThrow('away')
  set({ isAway: false, nowMs: NOON + 5 })
  counter.note(WEB, 'model_not_found')
  set({ nowMs: NOON + HOUR_MS })
  counter.note(WEB, 'model_not_found')
  await counter.stop()
  const ofModel = { sender: WEB, code: 'model_not_found' }
  expect(added).toHaveLength(1)
  expect(added[0]).toEqual([
    { ...ofModel, hourMs: NOON, requests: 2, lastAtMs: NOON + 5 },
    { sender: null, code: 'invalid_api_key', hourMs: NOON, requests: 1, lastAtMs: NOON },
    { ...ofModel, hourMs: NOON + HOUR_MS, requests: 1, lastAtMs: NOON + HOUR_MS },
  ])
})

test('beyond a number of keys they are counted without their key, and each once', async () => {
  const { counter, added } = counting(3)
  for (let key = 0; key < 50; key++)
    counter.note({ accountId: 'acct_1', keyId: `key_${key}` }, 'rate_limit_exceeded')
  await counter.stop()
  expect(added[0]).toHaveLength(4)
  expect(added[0]!.reduce((sum, { requests }) => sum + requests, 0)).toBe(50)
  expect(added[0]!.at(-1)).toMatchObject({ sender: null, requests: 47 })
})

test('counts of several processes add up by key, reason and hour, and are read by period', async () => {
  const store = createRefusalStore(ledger.postgres)
  const count = {
    sender: WEB,
    code: 'rate_limit_exceeded',
    hourMs: NOON,
    requests: 2,
    lastAtMs: NOON,
  } as const
  await Promise.all([
    store.add([count, { ...count, sender: null, code: 'invalid_api_key', requests: 9 }]),
    store.add([{ ...count, lastAtMs: NOON + 7 }]),
    store.add([{ ...count, hourMs: NOON - HOUR_MS }]),
  ])
  const read = (accountId: string | null, fromMs: number) =>
    store.read(accountId, { fromMs, toMs: NOON + HOUR_MS }, [Math.min(fromMs, NOON), NOON], 10)
  expect(await read('acct_1', NOON + 60_000)).toMatchObject([
    { accountId: 'acct_1', keyId: 'key_1', code: 'rate_limit_exceeded', status: 429, requests: 4 },
  ])
  expect((await read('acct_1', NOON - HOUR_MS))[0]).toMatchObject({
    ...{ requests: 6, overTime: [2, 4], lastAt: new Date(NOON + 7) },
  })
  expect(await read(null, NOON)).toMatchObject([
    { accountId: null, keyId: null, code: 'invalid_api_key', requests: 9 },
    { accountId: 'acct_1', requests: 4 },
  ])
  await store.prune(NOON + 91 * 24 * HOUR_MS)
  expect((await read('acct_1', NOON - HOUR_MS))[0]).toMatchObject({ requests: 4 })
})
