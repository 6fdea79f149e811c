import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import pino from 'pino'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type ByokKeyStore, createByokKeyStore } from '../../src/byok/byok-key-store.ts'
import { type ByokKeyVault, openByokKeyVault } from '../../src/byok/byok-key-vault.ts'
import { announceKeyChange } from '../../src/platform/redis/key-changes.ts'
import { createRedis, type Redis } from '../../src/platform/redis/redis.ts'
import { openTestAccount } from '../helpers/billing.ts'
import { eventually, onBusyMachine } from '../helpers/eventually.ts'
import { testLedger, testRedis } from '../helpers/resources.ts'

const MASTER_KEYS = [randomBytes(32)] as const
const WITHIN_A_SECOND = { timeout: onBusyMachine(1_000), interval: 20 }

let redis: Redis
let subscriber: Redis
let store: ByokKeyStore
let vault: ByokKeyVault
let accountId: string
/** Reads of PostgreSQL by the vault. */
let reads = vi.fn<() => void>()
let isAway = false
let nowMs = 0

const ledger = testLedger()
const server = testRedis()
beforeAll(() => {
  redis = server.connect()
  store = createByokKeyStore({
    postgres: ledger.postgres,
    masterKeys: MASTER_KEYS,
    announceAccount: (id) => announceKeyChange(redis, { accountId: id }),
  })
})
beforeEach(async () => {
  accountId = await openTestAccount(ledger.postgres, 1_000n)
  isAway = false
  nowMs = 1_000_000
  reads = vi.fn<() => void>()
  const findFirst = ledger.postgres.providerKey.findFirst.bind(ledger.postgres.providerKey)
  const providerKey = {
    findFirst: async (query: Parameters<typeof findFirst>[0]) => {
      reads()
      if (isAway) throw new Error('PostgreSQL is away')
      return findFirst(query)
    },
  }
  subscriber = createRedis({ url: server.url, name: 'test', mode: 'wait' })
  vault = await openByokKeyVault({
    postgres: new Proxy(ledger.postgres, {
      get: (target, name) => (name === 'providerKey' ? providerKey : Reflect.get(target, name)),
    }),
    redis,
    subscriber,
    masterKeys: MASTER_KEYS,
    logger: pino({ level: 'silent' }),
    clock: () => nowMs,
    refreshMs: 60_000,
  })
})
afterEach(async () => {
  await vault.stop()
  subscriber.disconnect()
})

async function stored(secret = `sk-${randomBytes(12).toString('hex')}`) {
  // Its announcement drops what is cached; a test begins after it.
  const announced = once(subscriber, 'message')
  const key = await store.create(accountId, { providerId: 'acme', secret, name: '', allowFallback: false })
  await announced
  return { keyId: key!.id, secret, use: { keyId: key!.id, accountId, providerId: 'acme' } }
}
const rowOf = (id: string) => ledger.postgres.providerKey.findUniqueOrThrow({ where: { id } })

describe('the vault of provider keys', () => {
  test('asks PostgreSQL once for many calls at once, and then no more', async () => {
    const { use, secret } = await stored()
    const answers = await Promise.all([vault.open(use), vault.open(use), vault.open(use)])
    expect(answers).toEqual(Array(3).fill({ kind: 'opened', secret }))
    await vault.open(use)
    expect(reads).toHaveBeenCalledTimes(1)
  })

  test('opens a key for its own account and provider only', async () => {
    const { use } = await stored()
    expect(await vault.open({ ...use, accountId: 'acct_other' })).toEqual({ kind: 'gone' })
    expect(await vault.open({ ...use, providerId: 'other' })).toEqual({ kind: 'gone' })
    expect(await vault.open({ ...use, keyId: 'pkey_none' })).toEqual({ kind: 'gone' })
  })

  test('forgets a revoked key without waiting for the reload, also when the message of it was lost', async () => {
    for (const hasFrames of [true, false]) {
      const { use, keyId } = await stored()
      expect(await vault.open(use)).toMatchObject({ kind: 'opened' })
      if (!hasFrames) await subscriber.unsubscribe()
      await store.remove(keyId, accountId)
      await vi.waitFor(async () => expect(await vault.open(use)).toEqual({ kind: 'gone' }), WITHIN_A_SECOND)
    }
  })

  test('the BYOK key vault notices an unannounced change at its next reload', async () => {
    const { use, keyId } = await stored()
    await vault.open(use)
    await ledger.postgres.providerKey.update({ where: { id: keyId }, data: { disabled: true } })
    expect(await vault.open(use)).toMatchObject({ kind: 'opened' })
    nowMs += 60_000
    await vi.waitFor(async () => expect(await vault.open(use)).toEqual({ kind: 'gone' }), WITHIN_A_SECOND)
  })

  test('the BYOK key vault uses cached keys while PostgreSQL is unavailable and reports the others as unavailable', async () => {
    const known = await stored()
    const unknown = await stored()
    await vault.open(known.use)
    isAway = true
    nowMs += 60_000
    expect(await vault.open(known.use)).toMatchObject({ kind: 'opened' })
    expect(await vault.open(known.use)).toMatchObject({ kind: 'opened' })
    expect(await vault.open(unknown.use)).toEqual({ kind: 'unavailable' })
    isAway = false
    expect(await vault.open(unknown.use)).toMatchObject({ kind: 'opened' })
  })

  test('counts a key as failing after three refusals a second apart, until it is accepted', async () => {
    const { use, keyId } = await stored()
    await vault.open(use)
    for (let refusal = 1; refusal <= 3; refusal++) {
      vault.note(keyId, 'unauthorized')
      // A burst of refused calls is one refusal.
      vault.note(keyId, 'unauthorized')
      await eventually(async () => expect((await rowOf(keyId)).refusals).toBe(refusal))
      expect((await rowOf(keyId)).failingSince === null).toBe(refusal < 3)
      nowMs += 1_000
    }
    expect(await rowOf(keyId)).toMatchObject({ lastError: 'unauthorized' })
    vault.note(keyId, 'accepted')
    await eventually(async () =>
      expect(await rowOf(keyId)).toMatchObject({
        refusals: 0,
        failingSince: null,
        lastError: 'unauthorized',
      }),
    )
  })

  test('notes once that a key was accepted, and again after a refusal', async () => {
    const { use, keyId } = await stored()
    await vault.open(use)
    expect((await rowOf(keyId)).acceptedAt).toBeNull()
    vault.note(keyId, 'accepted')
    await eventually(async () => expect((await rowOf(keyId)).acceptedAt).not.toBeNull())
    const first = (await rowOf(keyId)).acceptedAt
    vault.note(keyId, 'accepted')
    vault.note(keyId, 'forbidden')
    await eventually(async () => expect((await rowOf(keyId)).refusals).toBe(1))
    expect((await rowOf(keyId)).acceptedAt).toEqual(first)
    vault.note(keyId, 'accepted')
    await eventually(async () => expect((await rowOf(keyId)).refusals).toBe(0))
  })
})
