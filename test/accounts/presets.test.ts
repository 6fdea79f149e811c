import { randomBytes } from 'node:crypto'
import pino from 'pino'
import { expect, test } from 'vitest'
import { createPresetCache } from '../../src/accounts/presets/preset-cache.ts'
import { createPresetStore, PRESET_BOUNDS, PRESET_PURPOSE } from '../../src/accounts/presets/preset-store.ts'
import type { PresetReference, PresetVersion } from '../../src/core/presets/preset.ts'
import { createSealer } from '../../src/platform/sealing.ts'
import { openTestAccount } from '../helpers/billing.ts'
import { testLedger } from '../helpers/resources.ts'

const ledger = testLedger()
const announced: string[] = []
const open = async () => {
  const presets = createPresetStore({
    postgres: ledger.postgres,
    sealer: createSealer([randomBytes(32)], PRESET_PURPOSE),
    announceAccount: async (accountId) => void announced.push(accountId),
  })
  return { presets, accountId: await openTestAccount(ledger.postgres, 1n) }
}
const version = (temperature: number, name = 'x') => ({ name, settings: { temperature }, author: 'key_1' })

test('every save is a version, and an earlier one is restored as a new one', async () => {
  const { presets, accountId } = await open()
  for (const temperature of [0.1, 0.2]) await presets.save(accountId, version(temperature))
  expect(await presets.read(accountId, { name: 'x', version: null })).toMatchObject({
    version: 2,
    settings: { temperature: 0.2 },
  })
  expect(await presets.restore(accountId, { name: 'x', version: 1, author: 'key_1' })).toMatchObject({
    kind: 'saved',
    preset: { version: 3, settings: { temperature: 0.1 } },
  })
  expect(await presets.restore(accountId, { name: 'x', version: 9, author: 'key_1' })).toEqual({
    kind: 'unknown',
  })
  const found = await presets.find(accountId, { name: 'x', version: 2 })
  expect(found).toMatchObject({ version: 2, settings: { temperature: 0.2 } })
  expect(found?.versions.map((kept) => kept.version)).toEqual([3, 2, 1])
  expect(announced.filter((id) => id === accountId)).toHaveLength(3)
})

test('a version cannot be changed, and its number is not used again after a deletion', async () => {
  const { presets, accountId } = await open()
  await presets.save(accountId, version(0.1))
  const change = ledger.postgres.presetVersion.updateMany({ where: { accountId }, data: { version: 5 } })
  await expect(change).rejects.toThrow(/does not change/)
  expect(await presets.remove(accountId, 'x')).toBe(true)
  expect(await presets.remove(accountId, 'x')).toBe(false)
  expect(await presets.read(accountId, { name: 'x', version: 1 })).toBeNull()
  expect(await presets.list(accountId)).toEqual([])
  expect(await presets.save(accountId, version(0.3))).toMatchObject({ preset: { version: 2 } })
})

test('an account has a bounded number of presets and keeps their latest versions, and no other account sees them', async () => {
  const { presets, accountId } = await open()
  for (let at = 0; at < PRESET_BOUNDS.versions + 2; at++) await presets.save(accountId, version(at / 100))
  const found = await presets.find(accountId, { name: 'x', version: null })
  expect(found?.versions.map((kept) => kept.version).at(-1)).toBe(3)
  await ledger.postgres.preset.createMany({
    data: Array.from({ length: PRESET_BOUNDS.active - 1 }, (_, at) => ({
      ...{ accountId, name: `n${at}`, latestVersion: 1 },
    })),
  })
  expect(await presets.save(accountId, version(0.1, 'more'))).toEqual({ kind: 'too-many' })
  expect(await presets.save(accountId, version(0.1))).toMatchObject({ kind: 'saved' })
  const other = await openTestAccount(ledger.postgres, 1n)
  expect(await presets.list(other)).toEqual([])
  expect(await presets.read(other, { name: 'x', version: null })).toBeNull()
})

function cached(
  read: (reference: PresetReference) => Promise<PresetVersion | null>,
  bounds: { maxReads: number; maxBytes?: number } = { maxReads: 2 },
) {
  const reads: PresetReference[] = []
  const now = { ms: 0 }
  const cache = createPresetCache({
    presets: {
      read: async (_, reference) => {
        reads.push(reference)
        const found = await read(reference)
        return found && { ...found, createdAt: new Date(0) }
      },
    },
    ...{ logger: pino({ level: 'silent' }), clock: () => now.ms, refreshMs: 1_000, ...bounds },
  })
  return { cache, reads, now }
}
const latest = { name: 'x', version: null }
const one: PresetVersion = { name: 'x', version: 1, settings: {} }

test('a preset, and the absence of one, is read once until its account changes', async () => {
  const { cache, reads } = cached(async ({ name }) => (name === 'x' ? one : null))
  const together = [cache.lookup('a', latest), cache.lookup('a', latest)]
  expect(await Promise.all(together)).toMatchObject([one, one])
  // A plain value, so that no call waits for it.
  expect(cache.lookup('a', latest)).toMatchObject(one)
  expect(await cache.lookup('a', { name: 'none', version: null })).toBeNull()
  expect(cache.lookup('a', { name: 'none', version: null })).toBeNull()
  expect(reads).toHaveLength(2)
  cache.forget({ keyId: 'key_1' })
  cache.forget({ accountId: 'b' })
  expect(cache.lookup('a', latest)).toMatchObject(one)
  for (const change of [{ accountId: 'a' }, { everyAccount: true as const }]) {
    cache.forget(change)
    expect(cache.lookup('a', latest)).toBeInstanceOf(Promise)
    await cache.lookup('a', latest)
  }
  expect(reads).toHaveLength(4)
})

test('a value read before a change is not used after it', async () => {
  const first = Promise.withResolvers<PresetVersion>()
  let reading = 0
  const { cache } = cached(() => (reading++ === 0 ? first.promise : Promise.resolve({ ...one, version: 2 })))
  const before = cache.lookup('a', latest)
  cache.forget({ accountId: 'a' })
  const after = cache.lookup('a', latest)
  first.resolve(one)
  expect(await before).toMatchObject({ version: 1 })
  expect(await after).toMatchObject({ version: 2 })
  expect(await cache.lookup('a', latest)).toMatchObject({ version: 2 })
})

test('a preset stays in use while it cannot be read again, and reads are bounded', async () => {
  let isAway = false
  const { cache, reads, now } = cached(async () => {
    if (isAway) throw new Error('away')
    return one
  })
  await cache.lookup('a', latest)
  isAway = true
  now.ms = 1_500
  expect(cache.lookup('a', latest)).toMatchObject(one)
  expect(reads).toHaveLength(2)
  await expect(cache.lookup('b', latest)).rejects.toMatchObject({ code: 'overloaded' })
  const waiting = cached(() => new Promise(() => undefined)).cache
  for (const account of ['a', 'b']) void waiting.lookup(account, latest)
  await expect(waiting.lookup('c', latest)).rejects.toThrow(/cannot be read right now/)
})

test('an account that names many presets takes neither reads nor memory from others', async () => {
  const settings = { system: 'x'.repeat(30_000) }
  const flood = Promise.withResolvers<null>()
  let isFlooded = false
  const { cache, now } = cached(
    async ({ name }) => (isFlooded ? flood.promise : name === 'none' ? null : { ...one, name, settings }),
    { maxReads: 16, maxBytes: 16 * 100_000 },
  )
  await cache.lookup('a', latest)
  for (let at = 0; at < 100; at++) await cache.lookup('b', { name: `n${at}`, version: null })
  expect(cache.lookup('a', latest)).toMatchObject(one)
  expect(cache.lookup('b', { name: 'n99', version: null })).toMatchObject({ name: 'n99' })
  expect(cache.lookup('b', { name: 'n0', version: null })).toBeInstanceOf(Promise)

  isFlooded = true
  now.ms = 1_500
  const flooding = Array.from({ length: 32 }, (_, at) => cache.lookup('b', { name: `m${at}`, version: null }))
  const refused = Promise.allSettled(flooding)
  // Its entry is due, and is in use whether or not there is a read for it.
  expect(cache.lookup('a', latest)).toMatchObject({ name: 'x' })
  expect(cache.lookup('b', { name: 'n99', version: null })).toMatchObject({ name: 'n99' })
  const other = cache.lookup('c', latest)
  flood.resolve(null)
  expect(await other).toBeNull()
  expect((await refused).filter(({ status }) => status === 'rejected').length).toBeGreaterThan(16)
})
