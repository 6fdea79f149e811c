import { beforeAll, expect, test } from 'vitest'
import {
  createStoredResponseStore,
  STORED_RESPONSE_PURPOSE,
  type StoredResponseStore,
} from '../../../src/calls/stored-responses/stored-response-store.ts'
import { newCallId } from '../../../src/core/kernel/ids.ts'
import { createSealer } from '../../../src/platform/sealing.ts'
import { openTestAccount } from '../../helpers/billing.ts'
import { testLedger } from '../../helpers/resources.ts'

const KILOBYTE = 1_024

const ledger = testLedger()
let store: StoredResponseStore
beforeAll(() => {
  const sealer = createSealer([Buffer.alloc(32, 7)], STORED_RESPONSE_PURPOSE)
  store = createStoredResponseStore(ledger.postgres, sealer, {
    bytesPerAccount: 10 * KILOBYTE,
    bytesInAll: 32 * KILOBYTE,
  })
})

const turnOf = (id: string, bytes: number, status = 'completed') =>
  JSON.stringify({ response: { id, status, output: [] }, input: [{ id: 'in', text: 'x'.repeat(bytes) }] })

async function put(
  accountId: string,
  { bytes = 10, previousId = null as string | null, isRunning = false, status = 'completed' } = {},
) {
  const callId = newCallId()
  const turn = turnOf(callId, bytes, status)
  return { callId, isPut: await store.put({ callId, accountId, previousId, turn, isRunning }) }
}
const idsOf = async (accountId: string) => {
  const rows = await ledger.postgres.storedResponse.findMany({
    where: { accountId },
    orderBy: { callId: 'asc' },
  })
  const [total] = await ledger.postgres.storedResponseTotal.findMany({ where: { accountId } })
  const bytes = rows.reduce((sum, { sealed }) => sum + sealed.length, 0)
  expect([Number(total?.responses ?? 0), Number(total?.bytes ?? 0)]).toEqual([rows.length, bytes])
  return rows.map(({ callId }) => callId)
}

test('the oldest responses of an account give way to a new one, except those that run', async () => {
  const accountId = await openTestAccount(ledger.postgres, 0n)
  const running = await put(accountId, { bytes: 2 * KILOBYTE, isRunning: true })
  const old = await put(accountId, { bytes: 3 * KILOBYTE })
  const recent = await put(accountId, { bytes: 3 * KILOBYTE })
  const latest = await put(accountId, { bytes: 3 * KILOBYTE })
  expect(latest.isPut).toBe(true)
  expect(await idsOf(accountId)).toEqual([running, recent, latest].map(({ callId }) => callId))
  expect(await idsOf(accountId)).not.toContain(old.callId)
  expect((await put(accountId, { bytes: 10 * KILOBYTE })).isPut).toBe(false)
  expect(await idsOf(accountId)).toHaveLength(3)

  await store.end({ callId: running.callId, accountId, turn: turnOf(running.callId, 10) })
  await idsOf(accountId)
  expect(await store.find(accountId, running.callId)).toMatchObject({ state: 'ended' })
  for (const { callId } of [running, recent, latest]) expect(await store.delete(accountId, callId)).toBe(true)
  expect(await idsOf(accountId)).toEqual([])
})

test('accounts together store no more than their maximum, and what others store is not evicted', async () => {
  const accounts = await Promise.all(Array.from({ length: 4 }, () => openTestAccount(ledger.postgres, 0n)))
  for (const accountId of accounts.slice(0, 3))
    expect((await put(accountId, { bytes: 8 * KILOBYTE })).isPut).toBe(true)
  expect((await put(accounts[3]!, { bytes: 8 * KILOBYTE })).isPut).toBe(false)
  for (const accountId of accounts.slice(0, 3)) expect(await idsOf(accountId)).toHaveLength(1)
  await ledger.postgres.storedResponse.deleteMany({ where: { accountId: { in: accounts } } })
  expect((await put(accounts[3]!, { bytes: 8 * KILOBYTE })).isPut).toBe(true)
  await ledger.postgres.storedResponse.deleteMany({ where: { accountId: accounts[3]! } })
})

test('a chain is whole, of its account, within its length, and of responses that are complete', async () => {
  const accountId = await openTestAccount(ledger.postgres, 0n)
  const other = await openTestAccount(ledger.postgres, 0n)
  const first = await put(accountId)
  const second = await put(accountId, { previousId: first.callId })
  const third = await put(accountId, { previousId: second.callId })
  const found = await store.chain(accountId, third.callId, KILOBYTE)
  if (found.kind !== 'found') throw new Error(found.kind)
  expect(found.turns.map(({ response }) => response.id)).toEqual(
    [first, second, third].map(({ callId }) => callId),
  )
  expect(await store.chain(accountId, third.callId, found.bytes - 1)).toEqual({ kind: 'too-long' })
  expect(await store.chain(other, third.callId, KILOBYTE)).toEqual({ kind: 'missing', id: third.callId })
  const stranger = await put(other, { previousId: third.callId })
  expect(await store.chain(other, stranger.callId, KILOBYTE)).toEqual({ kind: 'missing', id: third.callId })
  for (const unfinished of [{ status: 'failed' }, { isRunning: true }]) {
    const { callId } = await put(accountId, unfinished)
    expect(await store.chain(accountId, callId, KILOBYTE)).toEqual({ kind: 'unfinished' })
  }
  await store.delete(accountId, first.callId)
  expect(await store.chain(accountId, third.callId, KILOBYTE)).toEqual({ kind: 'missing', id: first.callId })

  const { sealed } = await ledger.postgres.storedResponse.findUniqueOrThrow({
    where: { callId: second.callId },
  })
  await ledger.postgres.storedResponse.update({ where: { callId: third.callId }, data: { sealed } })
  await expect(store.find(accountId, third.callId)).rejects.toThrow()
})
