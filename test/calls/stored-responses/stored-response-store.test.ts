import { beforeAll, expect, test } from 'vitest'
import {
  bytesToRead,
  createStoredResponseStore,
  STORED_RESPONSE_PURPOSE,
  type StoredResponseStore,
  wantedWhole,
} from '../../../src/calls/stored-responses/stored-response-store.ts'
import { newCallId } from '../../../src/core/kernel/ids.ts'
import { createSealer } from '../../../src/platform/sealing.ts'
import { openTestAccount } from '../../helpers/billing.ts'
import { testLedger } from '../../helpers/resources.ts'

const KILOBYTE = 1_024

const ledger = testLedger()
let store: StoredResponseStore
const sealer = createSealer([Buffer.alloc(32, 7)], STORED_RESPONSE_PURPOSE)
beforeAll(() => {
  store = createStoredResponseStore(ledger.postgres, sealer, {
    bytesPerAccount: 10 * KILOBYTE,
    bytesInAll: 32 * KILOBYTE,
  })
})

const turnOf = (id: string, bytes: number, status = 'completed') => ({
  response: JSON.stringify({ id, status, output: [] }),
  input: JSON.stringify([{ id: 'in', text: 'x'.repeat(bytes) }]),
})
const all = (accountId: string) => ({ accountId, keyId: null })

async function put(
  accountId: string,
  {
    bytes = 10,
    previousId = null as string | null,
    isRunning = false,
    status = 'completed',
    keyId = 'a',
  } = {},
) {
  const callId = newCallId()
  const turn = { callId, accountId, keyId, previousId, isRunning, ...turnOf(callId, bytes, status) }
  return { callId, isPut: await store.put(turn) }
}
const idsOf = async (accountId: string) => {
  const rows = await ledger.postgres.storedResponse.findMany({
    where: { accountId },
    orderBy: { callId: 'asc' },
  })
  const [total] = await ledger.postgres.storedResponseTotal.findMany({ where: { accountId } })
  const bytes = rows.reduce(
    (sum, { sealed, sealedInput }) => sum + sealed.length + (sealedInput?.length ?? 0),
    0,
  )
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

  await store.end({ callId: running.callId, accountId, response: turnOf(running.callId, 0).response })
  await idsOf(accountId)
  expect(await store.find(all(accountId), running.callId)).toMatchObject({ state: 'ended' })
  for (const { callId } of [running, recent, latest])
    expect(await store.delete(all(accountId), callId)).toBe(true)
  expect(await idsOf(accountId)).toEqual([])
})

test('where all accounts have reached their maximum, the one that stores most gives way to those that store less', async () => {
  const accounts = await Promise.all(Array.from({ length: 5 }, () => openTestAccount(ledger.postgres, 0n)))
  const [most, ...others] = accounts
  const largest = [await put(most!, { bytes: 4 * KILOBYTE }), await put(most!, { bytes: 5 * KILOBYTE })]
  for (const accountId of others.slice(0, 3))
    expect((await put(accountId, { bytes: 7 * KILOBYTE })).isPut).toBe(true)
  // It would store more than any other.
  expect((await put(others[3]!, { bytes: 9.2 * KILOBYTE })).isPut).toBe(false)
  for (const bytes of [KILOBYTE, 3 * KILOBYTE]) expect((await put(others[3]!, { bytes })).isPut).toBe(true)
  expect(await idsOf(most!)).toEqual([largest[1]!.callId])
  for (const accountId of others.slice(0, 3)) expect(await idsOf(accountId)).toHaveLength(1)
  await ledger.postgres.storedResponse.deleteMany({ where: { accountId: { in: accounts } } })
})

test('a chain is whole, of its account, within its length, and of responses that have ended', async () => {
  const accountId = await openTestAccount(ledger.postgres, 0n)
  const other = await openTestAccount(ledger.postgres, 0n)
  const first = await put(accountId)
  const second = await put(accountId, { previousId: first.callId })
  const third = await put(accountId, { previousId: second.callId })
  const ids = [first, second, third].map(({ callId }) => callId)
  const found = await store.chain(all(accountId), third.callId, KILOBYTE)
  if (found.kind !== 'found') throw new Error(found.kind)
  expect(found.turns.map(({ callId }) => callId)).toEqual(ids)
  const read = await store.read(accountId, found.turns.map(wantedWhole))
  expect(read.map(({ response }) => JSON.parse(response.toString()).id)).toEqual(ids)
  const bytes = found.turns.reduce((sum, turn) => sum + bytesToRead(wantedWhole(turn)), 0)
  expect(await store.chain(all(accountId), third.callId, bytes - 1)).toEqual({ kind: 'too-long' })
  expect(await store.chain(all(other), third.callId, KILOBYTE)).toEqual({ kind: 'missing', id: third.callId })
  const stranger = await put(other, { previousId: third.callId })
  expect(await store.chain(all(other), stranger.callId, KILOBYTE)).toEqual({
    kind: 'missing',
    id: third.callId,
  })
  const { callId: running } = await put(accountId, { isRunning: true })
  expect(await store.chain(all(accountId), running, KILOBYTE)).toEqual({ kind: 'unfinished' })
  await store.delete(all(accountId), first.callId)
  expect(await store.chain(all(accountId), third.callId, KILOBYTE)).toEqual({
    kind: 'missing',
    id: first.callId,
  })

  const { sealed, sealedInput } = await ledger.postgres.storedResponse.findUniqueOrThrow({
    where: { callId: second.callId },
  })
  const where = { callId: third.callId }
  const responses = found.turns.map((turn) => ({ ...turn, part: 'response' as const }))
  await ledger.postgres.storedResponse.update({ where, data: { sealed: sealedInput! } })
  await expect(store.read(accountId, responses)).rejects.toThrow()
  await ledger.postgres.storedResponse.update({ where, data: { sealed } })
  await expect(store.read(accountId, responses)).rejects.toThrow()
})

test('a response is of its key, and of all keys of its account for a reader of the account', async () => {
  const accountId = await openTestAccount(ledger.postgres, 0n)
  const { callId } = await put(accountId, { keyId: 'one' })
  const next = await put(accountId, { keyId: 'other', previousId: callId })
  const [one, other] = ['one', 'other'].map((keyId) => ({ accountId, keyId }))
  expect(await store.find(one!, callId)).toMatchObject({ callId })
  expect(await store.find(other!, callId)).toBeNull()
  expect(await store.findAll(other!, [callId, next.callId])).toMatchObject([{ callId: next.callId }])
  expect(await store.chain(other!, next.callId, KILOBYTE)).toEqual({ kind: 'missing', id: callId })
  expect(await store.chain(all(accountId), next.callId, KILOBYTE)).toMatchObject({ kind: 'found' })
  expect(await store.delete(other!, callId)).toBe(false)
  expect(await store.delete(one!, callId)).toBe(true)
})

test('what was stored as one value is read in its parts, by any key until its call has a record', async () => {
  const accountId = await openTestAccount(ledger.postgres, 0n)
  const { callId } = await put(accountId)
  const response = { id: callId, status: 'completed', output: [{ arguments: '{"a":1,"input":[2]}' }] }
  const input = [{ id: 'in', text: ',"input":[' }]
  const sealed = await sealer.sealLater(JSON.stringify({ response, input }), `${accountId}/${callId}`)
  await ledger.postgres.storedResponse.update({
    where: { callId },
    data: { sealed: Uint8Array.from(sealed), sealedInput: null, keyId: null },
  })
  const found = await store.find({ accountId, keyId: 'any' }, callId)
  for (const part of ['response', 'input', 'both'] as const) {
    const [read] = await store.read(accountId, [{ ...found!, part }])
    expect([JSON.parse(read!.response.toString()), JSON.parse(read!.input.toString())]).toEqual([
      response,
      input,
    ])
  }
})

test('a long response is read in slices and opened as it was sealed', async () => {
  const big = createStoredResponseStore(ledger.postgres, sealer, {
    bytesPerAccount: 10 * KILOBYTE ** 2,
    bytesInAll: 10 * KILOBYTE ** 2,
  })
  const accountId = await openTestAccount(ledger.postgres, 0n)
  const callId = newCallId()
  const turn = turnOf(callId, 3 * KILOBYTE ** 2)
  await big.put({ callId, accountId, keyId: 'a', previousId: null, isRunning: false, ...turn })
  const found = await big.find(all(accountId), callId)
  const [read] = await big.read(accountId, [wantedWhole(found!)])
  expect(read!.input.toString() === turn.input).toBe(true)
  expect(read!.response.toString()).toBe(turn.response)
  const [response] = await big.read(accountId, [{ ...found!, part: 'response' }])
  expect(response!.input.toString()).toBe('null')
  await big.delete(all(accountId), callId)
})

test('of several responses only the wanted parts are read, counted and opened', async () => {
  const accountId = await openTestAccount(ledger.postgres, 0n)
  const parts = ['response', 'input', 'both'] as const
  const calls = await Promise.all(parts.map(() => put(accountId, { bytes: 200 })))
  const broken = { data: { sealed: Uint8Array.of(1) } }
  await ledger.postgres.storedResponse.update({ where: { callId: calls[1]!.callId }, ...broken })
  const found = await store.findAll(
    all(accountId),
    calls.map(({ callId }) => callId),
  )
  const wanted = calls.map(({ callId }, index) => ({
    ...found.find((each) => each.callId === callId)!,
    part: parts[index]!,
  }))
  const [response, input, both] = wanted
  expect(wanted.map(bytesToRead)).toEqual([
    response!.responseBytes,
    input!.inputBytes,
    both!.responseBytes + both!.inputBytes!,
  ])
  const read = await store.read(accountId, wanted)
  const turns = calls.map(({ callId }) => turnOf(callId, 200))
  expect(read.map(({ response, input }) => [response.toString(), input.toString()])).toEqual([
    [turns[0]!.response, 'null'],
    ['null', turns[1]!.input],
    [turns[2]!.response, turns[2]!.input],
  ])
})
