import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createAccountStore } from '../../src/accounts/account-store.ts'
import { type KeyCache, type KeyCacheOptions, startKeyCache } from '../../src/accounts/key-cache.ts'
import { createKeyHasher } from '../../src/accounts/key-hash.ts'
import { createKeyStore, type KeyStore } from '../../src/accounts/key-store.ts'
import { postLedger } from '../../src/billing/ledger/ledger-store.ts'
import { formatApiKey } from '../../src/core/accounts/api-key.ts'
import { announceKeyChange } from '../../src/platform/redis/key-changes.ts'
import { createRedis, type Redis } from '../../src/platform/redis/redis.ts'
import { KEYS_VERSION } from '../../src/platform/redis/redis-keys.ts'
import { openTestAccount, PLAIN_KEY } from '../helpers/billing.ts'
import { eventually, onBusyMachine } from '../helpers/eventually.ts'
import { testLedger, testRedis } from '../helpers/resources.ts'

const HERE = '192.0.2.1'
/** What the contract promises for revocation. */
/** Reloads come too late to be seen: what is noticed was announced. */
const ANNOUNCED = { refreshMs: 3_600_000 }
const REVOKED_WITHIN_MS = onBusyMachine(1_000)

describe('the key cache', () => {
  let redis: Redis
  let keys: KeyStore
  let account: string
  const opened: Array<{ cache: KeyCache; subscriber: Redis }> = []

  const ledger = testLedger()
  const server = testRedis()
  beforeAll(async () => {
    redis = server.connect('fail-fast')
    keys = createKeyStore(ledger.postgres, createKeyHasher([Buffer.alloc(32, 1)]), randomBytes)
    account = await openTestAccount(ledger.postgres, 1_000n)
  })
  afterEach(async () => {
    for (const { cache, subscriber } of opened.splice(0)) {
      await cache.stop()
      subscriber.disconnect()
    }
  })

  /** A cache of its own, as another API instance has it; `queries` counts what reaches PostgreSQL. */
  const open = async (options: Partial<KeyCacheOptions> = {}) => {
    const subscriber = createRedis({ url: server.url, name: 'test-keys', mode: 'wait' })
    const findBySecret = vi.fn(keys.findBySecret)
    const cache = await startKeyCache({
      keys: { findBySecret },
      redis,
      subscriber,
      logger: pino({ level: 'silent' }),
      clock: Date.now,
      ...options,
    })
    opened.push({ cache, subscriber })
    return { cache, findBySecret, subscriber }
  }
  const kindOf = async (cache: KeyCache, secret: string) => (await cache.lookup(secret, HERE)).kind

  test('asks PostgreSQL once and then answers at once', async () => {
    const { cache, findBySecret } = await open()
    const { key, secret } = await keys.create(account, PLAIN_KEY)
    const answers = await Promise.all([
      cache.lookup(secret, HERE),
      cache.lookup(secret, HERE),
      cache.lookup(secret, HERE),
    ])
    expect(answers[0]).toMatchObject({ kind: 'active', key: { keyId: key.id, accountId: account } })
    expect(cache.lookup(secret, HERE)).toEqual(answers[0])
    expect(findBySecret).toHaveBeenCalledTimes(1)
  })

  test('a replaced secret is unknown once its time of grace is over, and at once where none was given', async () => {
    let nowMs = Date.now()
    const { cache, findBySecret } = await open({ ...ANNOUNCED, clock: () => nowMs })
    const { key, secret } = await keys.create(account, PLAIN_KEY)
    expect(await kindOf(cache, secret)).toBe('active')
    const second = (await keys.rotateSecret(key.id, 60_000))!
    cache.forget({ keyId: key.id })
    expect(await cache.lookup(secret, HERE)).toMatchObject({ kind: 'active', key: { keyId: key.id } })
    expect(await cache.lookup(second.secret, HERE)).toMatchObject({ kind: 'active', key: { keyId: key.id } })
    findBySecret.mockClear()
    nowMs = second.key.previousUntil!.getTime()
    expect(await kindOf(cache, secret)).toBe('unknown')
    expect(await kindOf(cache, second.secret)).toBe('active')
    expect(findBySecret).not.toHaveBeenCalled()
    await keys.rotateSecret(key.id, 0)
    cache.forget({ keyId: key.id })
    expect(await kindOf(cache, second.secret)).toBe('unknown')
  })

  test('a mistyped key never reaches PostgreSQL, a made-up one once', async () => {
    const { cache, findBySecret } = await open()
    expect(cache.lookup('sk-sy-nonsense', HERE)).toEqual({ kind: 'unknown' })
    expect(findBySecret).not.toHaveBeenCalled()
    const madeUp = formatApiKey('standard', randomBytes(32))
    expect(await kindOf(cache, madeUp)).toBe('unknown')
    expect(cache.lookup(madeUp, HERE)).toEqual({ kind: 'unknown' })
    expect(findBySecret).toHaveBeenCalledTimes(1)
  })

  test('a revocation reaches every instance without waiting for the reload', async () => {
    const instances = [await open(ANNOUNCED), await open(ANNOUNCED)]
    const { key, secret } = await keys.create(account, PLAIN_KEY)
    for (const { cache } of instances) expect(await kindOf(cache, secret)).toBe('active')
    await keys.revoke(key.id, new Date())
    await announceKeyChange(redis, { keyId: key.id })
    for (const { cache } of instances) {
      await vi.waitFor(async () => expect(await kindOf(cache, secret)).toBe('revoked'), REVOKED_WITHIN_MS)
    }
  })

  test('a revocation whose message was lost is noticed without waiting for the reload', async () => {
    const { cache, subscriber } = await open(ANNOUNCED)
    const { key, secret } = await keys.create(account, PLAIN_KEY)
    expect(await kindOf(cache, secret)).toBe('active')
    await subscriber.unsubscribe()
    await keys.revoke(key.id, new Date())
    await announceKeyChange(redis, { keyId: key.id })
    await vi.waitFor(async () => expect(await kindOf(cache, secret)).toBe('revoked'), REVOKED_WITHIN_MS)
  })

  test('a change drops the entries it names and no others', async () => {
    const { cache, findBySecret } = await open()
    const changed = await keys.create(account, PLAIN_KEY)
    const kept = await keys.create(account, PLAIN_KEY)
    await Promise.all([cache.lookup(changed.secret, HERE), cache.lookup(kept.secret, HERE)])
    await announceKeyChange(redis, { keyId: changed.key.id })
    await eventually(() => expect(cache.lookup(changed.secret, HERE)).toBeInstanceOf(Promise))
    expect(cache.lookup(kept.secret, HERE)).toMatchObject({ kind: 'active' })
    expect(findBySecret.mock.calls.filter(([secret]) => secret === kept.secret)).toHaveLength(1)
  })

  test('a change costs the same however many other keys are cached', async () => {
    const row = await keys.find((await keys.create(account, PLAIN_KEY)).key.id)
    const secrets = Array.from({ length: 10_000 }, () => formatApiKey('standard', randomBytes(32)))
    const indexOf = new Map(secrets.map((secret, index) => [secret, index]))
    const findBySecret = async (secret: string) => {
      const id = indexOf.get(secret)
      return { ...row!, id: `key_${id}`, accountId: `acct_${id}`, createdBy: null, creator: null } as never
    }
    const { cache } = await open({ keys: { findBySecret } })
    for (const secret of secrets) await cache.lookup(secret, HERE)
    const startedAt = performance.now()
    for (let change = 0; change < 50_000; change += 1) cache.forget({ accountId: `acct_other${change}` })
    expect(performance.now() - startedAt).toBeLessThan(5_000)
    cache.forget({ accountId: 'acct_7' })
    cache.forget({ keyId: 'key_8' })
    const isCached = (index: number) => !(cache.lookup(secrets[index]!, HERE) instanceof Promise)
    expect([6, 7, 8, 9].map(isCached)).toEqual([true, false, false, true])
  })

  test('an entry dropped from the key cache is read from the database again at once, without an announcement', async () => {
    const { cache, findBySecret } = await open()
    const { secret } = await keys.create(account, PLAIN_KEY)
    await cache.lookup(secret, HERE)
    cache.forget({ accountId: account })
    expect(cache.lookup(secret, HERE)).toBeInstanceOf(Promise)
    expect(findBySecret).toHaveBeenCalledTimes(2)
  })

  test('suspending an account stops its keys, resuming it brings them back', async () => {
    const { cache } = await open()
    const accounts = createAccountStore(ledger.postgres, postLedger)
    const suspended = await openTestAccount(ledger.postgres, 1_000n)
    const { secret } = await keys.create(suspended, PLAIN_KEY)
    expect(await kindOf(cache, secret)).toBe('active')
    await accounts.suspend(suspended)
    await announceKeyChange(redis, { accountId: suspended })
    await vi.waitFor(async () => expect(await kindOf(cache, secret)).toBe('suspended'), REVOKED_WITHIN_MS)
    await accounts.resume(suspended)
    await announceKeyChange(redis, { accountId: suspended })
    await vi.waitFor(async () => expect(await kindOf(cache, secret)).toBe('active'), REVOKED_WITHIN_MS)
  })

  test('a key expires by the clock, though it is cached', async () => {
    let now = 1_000_000
    const { cache } = await open({ clock: () => now })
    const { secret } = await keys.create(account, { ...PLAIN_KEY, expiresAt: new Date(2_000_000) })
    expect(await kindOf(cache, secret)).toBe('active')
    now = 2_000_000
    expect(cache.lookup(secret, HERE)).toMatchObject({ kind: 'expired' })
  })

  test('cached keys stay valid while PostgreSQL is unavailable, and unknown keys wait for it', async () => {
    let now = 0
    let away = false
    const findBySecret: KeyStore['findBySecret'] = (secret) =>
      away ? Promise.reject(new Error('away')) : keys.findBySecret(secret)
    const { cache } = await open({ keys: { findBySecret }, clock: () => now, refreshMs: 1_000 })
    const [known, other] = [await keys.create(account, PLAIN_KEY), await keys.create(account, PLAIN_KEY)]
    expect(await kindOf(cache, known.secret)).toBe('active')
    away = true
    now = 5_000
    expect(cache.lookup(known.secret, HERE)).toMatchObject({ kind: 'active' })
    expect(await kindOf(cache, other.secret)).toBe('unavailable')
    expect(cache.lookup(known.secret, HERE)).toMatchObject({ kind: 'active' })
    away = false
    expect(await kindOf(cache, other.secret)).toBe('active')
  })

  test('the key cache notices an unannounced change after its reload interval', async () => {
    let now = 0
    const { cache } = await open({ clock: () => now, refreshMs: 60_000 })
    const { key, secret } = await keys.create(account, PLAIN_KEY)
    expect(await kindOf(cache, secret)).toBe('active')
    await keys.revoke(key.id, new Date())
    expect(cache.lookup(secret, HERE)).toMatchObject({ kind: 'active' })
    now = 60_000
    await eventually(() => expect(cache.lookup(secret, HERE)).toMatchObject({ kind: 'revoked' }))
  })

  test('an answer read before a change is not kept after it', async () => {
    const holds = Promise.withResolvers<void>()
    const [target, marker] = [await keys.create(account, PLAIN_KEY), await keys.create(account, PLAIN_KEY)]
    const findBySecret: KeyStore['findBySecret'] = async (secret) => {
      const found = await keys.findBySecret(secret)
      if (secret === target.secret) await holds.promise
      return found
    }
    const { cache } = await open({ keys: { findBySecret } })
    expect(await kindOf(cache, marker.secret)).toBe('active')
    const early = cache.lookup(target.secret, HERE)
    await keys.revoke(target.key.id, new Date())
    await announceKeyChange(redis, { keyId: target.key.id })
    // Messages come in order: once the marker is dropped, the first one was heard too.
    await announceKeyChange(redis, { keyId: marker.key.id })
    await eventually(() => expect(cache.lookup(marker.secret, HERE)).toBeInstanceOf(Promise))
    holds.resolve()
    await early
    expect(await kindOf(cache, target.secret)).toBe('revoked')
  })

  test('Redis losing its data drops what was cached', async () => {
    const { cache } = await open()
    const { key, secret } = await keys.create(account, PLAIN_KEY)
    await announceKeyChange(redis, { keyId: 'key_other' })
    expect(await kindOf(cache, secret)).toBe('active')
    await keys.revoke(key.id, new Date())
    await redis.del(KEYS_VERSION)
    await vi.waitFor(async () => expect(await kindOf(cache, secret)).toBe('revoked'), REVOKED_WITHIN_MS)
  })

  test('invented keys from one network are limited to a number of look-ups a minute and delay no other network', async () => {
    const { cache, findBySecret } = await open()
    const known = await keys.create(account, PLAIN_KEY)
    const madeUp = Array.from({ length: 300 }, () => formatApiKey('standard', randomBytes(32)))
    const answers = await Promise.all(
      madeUp.map((secret, index) => cache.lookup(secret, `2001:db8:1:2::${index.toString(16)}`)),
    )
    expect(answers.filter(({ kind }) => kind === 'unknown')).toHaveLength(100)
    expect(answers.filter(({ kind }) => kind === 'throttled')).toHaveLength(200)
    expect(findBySecret).toHaveBeenCalledTimes(100)
    expect((await cache.lookup(known.secret, HERE)).kind).toBe('active')
    // What is cached is served to every network.
    expect(cache.lookup(known.secret, '2001:db8:1:2::1')).toMatchObject({ kind: 'active' })
  })

  test('a thousand first calls at once with one key are one look-up, and none is refused', async () => {
    const { cache, findBySecret } = await open()
    const { secret } = await keys.create(account, PLAIN_KEY)
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => cache.lookup(secret, HERE)))
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['active']))
    expect(findBySecret).toHaveBeenCalledTimes(1)
  })

  test('announcements made at the same time drop what they name and nothing else', async () => {
    const { cache } = await open()
    const kept = await keys.create(account, PLAIN_KEY)
    await cache.lookup(kept.secret, HERE)
    const others = Array.from({ length: 4 }, () => server.connect())
    await Promise.all(
      Array.from({ length: 400 }, (_, index) =>
        announceKeyChange(others[index % 4]!, { keyId: `key_${index}` }),
      ),
    )
    for (const other of others) other.disconnect()
    expect(cache.lookup(kept.secret, HERE)).toMatchObject({ kind: 'active' })
  })

  test('the number of queries in flight is bounded', async () => {
    const holds = Promise.withResolvers<null>()
    const { cache } = await open({ keys: { findBySecret: () => holds.promise }, maxMisses: 2 })
    const secrets = Array.from({ length: 3 }, () => formatApiKey('standard', randomBytes(32)))
    const [, , third] = secrets.map((secret) => cache.lookup(secret, HERE))
    expect(await third).toEqual({ kind: 'unavailable' })
    holds.resolve(null)
  })
})
