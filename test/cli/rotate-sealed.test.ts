import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createKeyHasher } from '../../src/accounts/key-hash.ts'
import { createKeyStore } from '../../src/accounts/key-store.ts'
import { createPresetStore, PRESET_PURPOSE } from '../../src/accounts/presets/preset-store.ts'
import { createTotpStore, TOTP_PURPOSE } from '../../src/accounts/second-factor/totp.ts'
import { createByokKeyStore } from '../../src/byok/byok-key-store.ts'
import { createPlatformKeyStore, readPlatformKeys } from '../../src/catalog/platform-key-store.ts'
import { PLATFORM_KEY_PURPOSE, platformKeyContext } from '../../src/catalog/platform-keys.ts'
import { admin as adminCommand } from '../../src/cli/admin.ts'
import { runCommand } from '../../src/cli/run-command.ts'
import { BYOK_KEY_PURPOSE, byokKeyContext } from '../../src/core/routing/byok.ts'
import { resealAll } from '../../src/operators/reseal-secrets.ts'
import { createRedis } from '../../src/platform/redis/redis.ts'
import { createSealer, type MasterKeys } from '../../src/platform/sealing.ts'
import { createEndpointStore, WEBHOOK_SECRET_PURPOSE } from '../../src/webhooks/endpoint-store.ts'
import { openTestAccount, PLAIN_KEY } from '../helpers/billing.ts'
import { testLedger, testRedis } from '../helpers/resources.ts'

const before = randomBytes(32)
const after = randomBytes(32)

const ledger = testLedger()
const server = testRedis()

// biome-ignore lint/suspicious/noExplicitAny: whatever a command prints
const admin = async (...args: string[]): Promise<{ code: number; json: any; out: string }> => {
  const { code, out } = await runCommand(adminCommand, [...args, '--json'], {
    DATABASE_URL: ledger.url,
    REDIS_URL: server.url,
    MASTER_KEY: after.toString('base64'),
    MASTER_KEY_PREVIOUS: `${randomBytes(32).toString('hex')}, ${before.toString('hex')}`,
  })
  return { code, json: JSON.parse(out), out }
}

const providerKeys = (masterKeys: MasterKeys) =>
  createByokKeyStore({ postgres: ledger.postgres, masterKeys, announceAccount: async () => undefined })
const secretUnder = async (keyId: string, masterKeys: MasterKeys) => {
  const row = await ledger.postgres.providerKey.findUniqueOrThrow({ where: { id: keyId } })
  return createSealer(masterKeys, BYOK_KEY_PURPOSE).open(
    row.secretSealed,
    byokKeyContext(row.accountId, keyId),
  )
}
const newKey = (secret: string) => ({ providerId: 'acme', secret, name: 'n', allowFallback: false })

describe('rotate-sealed', () => {
  test('seals everything under the new master key, in batches, once', async () => {
    const accountId = await openTestAccount(ledger.postgres, 1_000n)
    const other = await openTestAccount(ledger.postgres, 1_000n)
    const store = providerKeys([before])
    const stored: Array<{ id: string; secret: string }> = []
    // More than a batch, and one that is under the new key already.
    for (const owner of [accountId, other]) {
      for (let at = 0; at < 60; at++) {
        const secret = `sk-${randomBytes(12).toString('hex')}`
        stored.push({ id: (await store.create(owner, newKey(secret)))!.id, secret })
      }
    }
    const fresh = await providerKeys([after, before]).create(accountId, newKey('sk-fresh'))
    const sealer = createSealer([before], WEBHOOK_SECRET_PURPOSE)
    const endpoints = createEndpointStore(ledger.postgres, sealer, randomBytes)
    const { endpoint, secret } = await endpoints.create(accountId, 'https://example.test/', [])
    const rotated = await endpoints.rotateSecret(endpoint.id, 60_000)
    const keys = createKeyStore(ledger.postgres, createKeyHasher([before]), randomBytes)
    const apiKey = await keys.create(accountId, PLAIN_KEY)

    const presetsUnder = (masterKeys: MasterKeys) =>
      createPresetStore({
        postgres: ledger.postgres,
        sealer: createSealer(masterKeys, PRESET_PURPOSE),
        announceAccount: async () => undefined,
      })
    await presetsUnder([before]).save(accountId, { name: 'x', settings: { seed: 7 }, author: 'key_1' })
    const totp = createTotpStore(ledger.postgres, createSealer([before], TOTP_PURPOSE), Date.now)
    const app = await totp.begin(accountId, 'ann@example.test')
    const redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
    const platformKeys = createPlatformKeyStore({ postgres: ledger.postgres, redis, masterKeys: [before] })
    const origins = ['https://api.acme.test', 'https://tasks.acme.test']
    const atAcme = { providerId: 'acme', origins, author: 'key_1' }
    await platformKeys.put({ ...atAcme, id: 'main', secret: 'sk-platform' })
    await platformKeys.put({ ...atAcme, id: 'plat_2', secret: 'sk-platform-2' })
    redis.disconnect()

    const first = await admin('rotate-sealed')
    expect(first).toMatchObject({
      code: 0,
      json: {
        provider_keys_resealed: 120,
        webhook_secrets_resealed: 2,
        authenticator_secrets_resealed: 1,
        platform_keys_resealed: 2,
        presets_resealed: 1,
        not_opened: 0,
        api_keys_under_previous: 1,
      },
    })
    for (const { id, secret: expected } of stored) expect(await secretUnder(id, [after])).toBe(expected)
    expect(await secretUnder(fresh!.id, [after])).toBe('sk-fresh')
    const row = await ledger.postgres.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } })
    const renewed = createSealer([after], WEBHOOK_SECRET_PURPOSE)
    expect(renewed.open(row.secretSealed, endpoint.id)).toBe(rotated)
    expect(renewed.open(row.previousSecretSealed!, endpoint.id)).toBe(secret)

    const { secretSealed } = await ledger.postgres.accountTotp.findUniqueOrThrow({ where: { accountId } })
    expect(createSealer([after], TOTP_PURPOSE).open(secretSealed, accountId)).toBe(app?.secret)

    const [ours] = await readPlatformKeys(ledger.postgres)
    const platformSealer = createSealer([after], PLATFORM_KEY_PURPOSE)
    expect(platformSealer.open(ours!.secretSealed, platformKeyContext('acme', origins))).toBe('sk-platform')

    expect(await presetsUnder([after]).list(accountId)).toMatchObject([{ settings: { seed: 7 } }])

    const moved = createKeyStore(ledger.postgres, createKeyHasher([after, before]), randomBytes)
    expect(await moved.findBySecret(apiKey.secret)).toMatchObject({ id: apiKey.key.id })
    const again = await admin('rotate-sealed')
    expect(again.json).toMatchObject({
      provider_keys_resealed: 0,
      webhook_secrets_resealed: 0,
      api_keys_under_previous: 0,
    })
  })

  test('names what no master key opens, fails, and does the rest', async () => {
    const accountId = await openTestAccount(ledger.postgres, 1_000n)
    const lost = (await providerKeys([randomBytes(32)]).create(accountId, newKey('sk-lost')))!
    const kept = (await providerKeys([before]).create(accountId, newKey('sk-kept')))!
    const report = await admin('rotate-sealed')
    expect(report.code).toBe(1)
    expect(report.json).toMatchObject({
      provider_keys_resealed: 1,
      unopened: [`provider_keys ${lost.id}`],
    })
    expect(await secretUnder(kept.id, [after])).toBe('sk-kept')
  })

  test('leaves alone what changed under its hands', async () => {
    const accountId = await openTestAccount(ledger.postgres, 1_000n)
    const sealer = createSealer([before], WEBHOOK_SECRET_PURPOSE)
    const endpoints = createEndpointStore(ledger.postgres, sealer, randomBytes)
    const { endpoint } = await endpoints.create(accountId, 'https://example.test/', [])
    const query = ledger.postgres.$executeRawUnsafe.bind(ledger.postgres)
    let newest: string | null = null
    const racing = new Proxy(ledger.postgres, {
      get: (target, name) =>
        name === '$executeRawUnsafe'
          ? async (...args: Parameters<typeof query>) => {
              newest ??= await endpoints.rotateSecret(endpoint.id, 60_000)
              return query(...args)
            }
          : Reflect.get(target, name),
    })
    await resealAll(racing, [after, before])
    const row = await ledger.postgres.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } })
    expect(createSealer([after, before], WEBHOOK_SECRET_PURPOSE).open(row.secretSealed, endpoint.id)).toBe(
      newest,
    )
  })
})

describe("the operator's provider key commands", () => {
  test('list keys without their secrets, and revoke one for good', async () => {
    const accountId = await openTestAccount(ledger.postgres, 1_000n)
    const secret = `sk-${randomBytes(12).toString('hex')}`
    const key = (await providerKeys([after]).create(accountId, newKey(secret)))!
    const list = await admin('provider-key', 'list', '--account', accountId)
    expect(list.json.provider_keys).toMatchObject([
      { provider_key_id: key.id, provider: 'acme', last4: secret.slice(-4) },
    ])
    expect(list.out).not.toContain(secret)
    expect(await admin('provider-key', 'revoke', key.id)).toMatchObject({ code: 0, json: { deleted: true } })
    expect(await ledger.postgres.providerKey.findUnique({ where: { id: key.id } })).toBeNull()
    expect((await admin('provider-key', 'revoke', key.id)).code).toBe(1)
  })
})
