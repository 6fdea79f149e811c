import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { createKeyHasher } from '../../src/accounts/key-hash.ts'
import { createKeyStore, type KeyBounds, type KeyStore } from '../../src/accounts/key-store.ts'
import { hashOfToken } from '../../src/accounts/secret-token.ts'
import { formatApiKey } from '../../src/core/accounts/api-key.ts'
import { picoUsd } from '../../src/core/kernel/money.ts'
import type { MasterKeys } from '../../src/platform/sealing.ts'
import { openTestAccount, openTestOperator, PLAIN_KEY } from '../helpers/billing.ts'
import { testLedger } from '../helpers/resources.ts'

describe('the key store', () => {
  let keys: KeyStore
  let account: string
  const ledger = testLedger()
  beforeAll(async () => {
    keys = createKeyStore(ledger.postgres, createKeyHasher([Buffer.alloc(32, 1)]), randomBytes)
    account = await openTestAccount(ledger.postgres, 1_000n)
  })

  test('finds a key by its secret, with the state of its account', async () => {
    const { key, secret } = await keys.create(account, {
      ...PLAIN_KEY,
      name: 'backend',
      limitPico: picoUsd(5n),
    })
    expect(await keys.findBySecret(secret)).toEqual({
      ...key,
      accountLimits: { requestsPerMinute: null, concurrentCalls: null },
      byokKeys: [],
      surfaces: [],
      accountState: 'active',
      operator: null,
      creator: { role: 'owner', isSuspended: false, memberBudget: null },
      accountLimitPico: null,
      groups: [],
      guardrails: [],
    })
    expect(key).toMatchObject({ accountId: account, kind: 'standard', name: 'backend', limitPico: 5n })
  })

  test('finds a key by the secret before its last rotation, until the time of grace is over', async () => {
    const { key, secret } = await keys.create(account, { ...PLAIN_KEY, name: 'rotated' })
    const second = (await keys.rotateSecret(key.id, 60_000))!
    const found = await keys.findBySecret(secret)
    expect(found).toMatchObject({ id: key.id, name: 'rotated', secretUntil: second.key.previousUntil })
    expect(second.key.previousUntil!.getTime() - Date.now()).toBeGreaterThan(0)
    expect(await keys.findBySecret(second.secret)).not.toHaveProperty('secretUntil')
    const third = (await keys.rotateSecret(key.id, 60_000))!
    expect(await keys.findBySecret(secret)).toBeNull()
    expect(await keys.findBySecret(second.secret)).toMatchObject({ id: key.id })
    await keys.rotateSecret(key.id, 0)
    expect(await keys.findBySecret(third.secret)).toBeNull()
    await keys.revoke(key.id, new Date())
    expect(await keys.rotateSecret(key.id, 60_000)).toBeNull()
  })

  test('finds a key with the spend cap of its account, and what the member who made it may do', async () => {
    const organisation = await openTestAccount(ledger.postgres, 1_000n)
    const [withBudget, without] = await Promise.all([1, 2].map(() => openTestAccount(ledger.postgres, 1n)))
    const of = { accountId: organisation, role: 'developer' } as const
    await ledger.postgres.organisationMember.createMany({
      data: [
        { ...of, personId: withBudget!, monthlyBudgetPico: 7n },
        { ...of, personId: without! },
      ],
    })
    await ledger.postgres.account.update({ where: { id: organisation }, data: { monthlyLimitPico: 9n } })
    const foundOf = async (createdBy: string | null) => {
      const { secret } = await keys.create(organisation, { ...PLAIN_KEY, createdBy })
      return keys.findBySecret(secret)
    }
    const cap = { accountLimitPico: 9n }
    const memberBudget = { memberId: withBudget, limitPico: 7n }
    const developer = { role: 'developer', isSuspended: false, memberBudget: null }
    expect(await foundOf(withBudget!)).toMatchObject({ ...cap, creator: { ...developer, memberBudget } })
    expect(await foundOf(without!)).toMatchObject({ ...cap, creator: developer })
    expect(await foundOf(account)).toMatchObject({ ...cap, creator: { role: null, memberBudget: null } })
    expect(await foundOf(null)).toMatchObject({ ...cap, creator: { role: 'owner', memberBudget: null } })
    await ledger.postgres.account.update({ where: { id: without! }, data: { state: 'suspended' } })
    expect(await foundOf(without!)).toMatchObject({ creator: { ...developer, isSuspended: true } })
  })

  test('an admin key belongs to an operator, and to no account', async () => {
    const operatorId = await openTestOperator(ledger.postgres, 'viewer')
    const { key, secret } = await keys.createOfOperator(operatorId, PLAIN_KEY)
    expect(secret).toMatch(/^sk-sy-admin-/)
    expect(key).toMatchObject({ accountId: null, kind: 'admin' })
    expect(await keys.findBySecret(secret)).toMatchObject({
      accountState: null,
      operator: { id: operatorId, role: 'viewer', state: 'active' },
    })
  })

  test('keeps no secret: neither in clear nor as a hash that one could test without the pepper', async () => {
    const { key, secret } = await keys.create(account, PLAIN_KEY)
    const [row] = await ledger.postgres.$queryRawUnsafe<Array<{ text: string }>>(
      'SELECT api_keys::text AS text FROM api_keys WHERE id = $1',
      key.id,
    )
    expect(row?.text).not.toContain(secret.slice(10, -4))
    const elsewhere = createKeyStore(ledger.postgres, createKeyHasher([Buffer.alloc(32, 2)]), randomBytes)
    expect(await elsewhere.findBySecret(secret)).toBeNull()
  })

  test('a key outlives a change of the master key, and stands under the new one from its first use', async () => {
    const [before, after] = [Buffer.alloc(32, 1), Buffer.alloc(32, 3)] as const
    const storeUnder = (...masterKeys: MasterKeys) =>
      createKeyStore(ledger.postgres, createKeyHasher(masterKeys), randomBytes)
    const used = await keys.create(account, PLAIN_KEY)
    const unused = await keys.create(account, PLAIN_KEY)
    expect(await storeUnder(after).findBySecret(used.secret)).toBeNull()
    expect(await storeUnder(after, before).findBySecret(used.secret)).toMatchObject({ id: used.key.id })
    expect(await storeUnder(after).findBySecret(used.secret)).toMatchObject({ id: used.key.id })
    expect(await storeUnder(after).findBySecret(unused.secret)).toBeNull()
  })

  test('a key of another gateway is found by its own secret, and stands under the keyed hash from its first use', async () => {
    const secret = `sk-${randomBytes(16).toString('base64url')}`
    const key = await keys.adopt(account, { ...PLAIN_KEY, name: 'moved' }, hashOfToken(secret))
    const stored = () => ledger.postgres.apiKey.findUniqueOrThrow({ where: { id: key.id } })
    expect(await keys.findBySecret(`${secret}x`)).toBeNull()
    expect(await keys.findBySecret(secret)).toMatchObject({ id: key.id, name: 'moved' })
    const after = await stored()
    expect(after.hash).toEqual(createKeyHasher([Buffer.alloc(32, 1)]).hash(secret))
    expect({ prefix: after.prefix, suffix: after.suffix }).toEqual({
      prefix: 'sk-',
      suffix: secret.slice(-4),
    })
    expect(await keys.findBySecret(secret)).toMatchObject({ id: key.id })
  })

  test('a key of our own form is never looked for by the hash of other gateways', async () => {
    const secret = formatApiKey('standard', randomBytes(32))
    await keys.adopt(account, PLAIN_KEY, hashOfToken(secret))
    expect(await keys.findBySecret(secret)).toBeNull()
  })

  test('creations at the same time leave an account no more keys than it may have', async () => {
    const busy = await openTestAccount(ledger.postgres, 1n)
    const create = (bounds: KeyBounds) =>
      Promise.all(Array.from({ length: 20 }, () => keys.createWithin(busy, PLAIN_KEY, bounds)))
    const made = await create({ active: 5, inAll: 9 })
    const created = made.flatMap((creation) => (creation.kind === 'created' ? [creation] : []))
    expect(created).toHaveLength(5)
    expect(new Set(made.map(({ kind }) => kind))).toEqual(new Set(['created', 'too-many-active']))
    expect(await keys.findBySecret(created[0]!.secret)).toMatchObject({ accountId: busy })
    for (const { key } of created) await keys.revoke(key.id, new Date())
    const more = await create({ active: 5, inAll: 8 })
    expect(more.filter(({ kind }) => kind === 'created')).toHaveLength(3)
    expect(new Set(more.map(({ kind }) => kind))).toEqual(new Set(['created', 'too-many']))
  })

  test('a revoked key stays, with the time of its first revocation', async () => {
    const { key, secret } = await keys.create(account, PLAIN_KEY)
    const first = await keys.revoke(key.id, new Date(1_000))
    expect(first).toMatchObject({ state: 'revoked', revokedAt: new Date(1_000) })
    expect(await keys.revoke(key.id, new Date(2_000))).toEqual(first)
    expect(await keys.findBySecret(secret)).toMatchObject({ state: 'revoked' })
  })

  test('revoking what never was answers null', async () => {
    expect(await keys.revoke('key_nobody', new Date())).toBeNull()
  })

  test('lists the keys of one account, newest first, or all', async () => {
    const other = await openTestAccount(ledger.postgres, 1_000n)
    const { key: older } = await keys.create(other, PLAIN_KEY)
    const { key: newer } = await keys.create(other, PLAIN_KEY)
    expect((await keys.list(other)).map((key) => key.id)).toEqual([newer.id, older.id])
    expect((await keys.list()).length).toBeGreaterThan(2)
  })

  test('a key of no account that exists is refused', async () => {
    await expect(keys.create('acct_nobody', PLAIN_KEY)).rejects.toThrow()
  })
})
