import { randomBytes } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createAccountDirectory } from '../../src/accounts/account-store.ts'
import { startKeyCache } from '../../src/accounts/key-cache.ts'
import { createKeyHasher } from '../../src/accounts/key-hash.ts'
import { createKeyStore, type KeyStore } from '../../src/accounts/key-store.ts'
import { authenticate } from '../../src/http/plugins/authenticate.ts'
import { sendErrors } from '../../src/http/plugins/send-errors.ts'
import { surfaceAccess } from '../../src/http/plugins/surface-access.ts'
import { createAuditLog } from '../../src/operators/audit-log.ts'
import { createSurfaceGrantStore } from '../../src/operators/surface-grant-store.ts'
import { createSurfaceManagement } from '../../src/operators/surface-management.ts'
import { announceKeyChange } from '../../src/platform/redis/key-changes.ts'
import { createRedis } from '../../src/platform/redis/redis.ts'
import {
  openTestAccount,
  openTestLedger,
  openTestOperator,
  PLAIN_KEY,
  type TestLedger,
} from '../helpers/billing.ts'
import { onBusyMachine } from '../helpers/eventually.ts'
import { createTestRedis } from '../helpers/services.ts'

const LIMITS = {
  requestsPerMinute: 600,
  refusedRequestsPerMinute: 1_000_000,
  refusedBytesPerMinute: 1_000_000_000,
  tokensPerMinute: 9_000,
  concurrentCalls: 100,
  accountRequestsPerMinute: 1_200,
  accountConcurrentCalls: 200,
}
const OPERATOR = { actor: 'key_operator', requestId: 'request_1' }
/** What the contract promises for changes of keys. */
const KNOWN_WITHIN_MS = onBusyMachine(1_000)

const resources = new AsyncDisposableStack()
let ledger: TestLedger
let keys: KeyStore
let surfaces: ReturnType<typeof createSurfaceManagement>
/** Two API instances, each with a handler behind a granted surface. */
let instances: FastifyInstance[]

beforeAll(async () => {
  ledger = resources.adopt(await openTestLedger(), ({ close }) => close())
  const server = resources.adopt(await createTestRedis(), ({ close }) => close())
  const redis = createRedis({ url: server.url, name: 'test', mode: 'fail-fast' })
  resources.defer(() => redis.disconnect())
  keys = createKeyStore(ledger.postgres, createKeyHasher([Buffer.alloc(32, 1)]), randomBytes)
  const logger = pino({ level: 'silent' })
  surfaces = createSurfaceManagement({
    grants: createSurfaceGrantStore(ledger.postgres),
    directory: createAccountDirectory(ledger.postgres),
    keys,
    announce: (change) => announceKeyChange(redis, change),
    auditLog: createAuditLog(ledger.postgres, logger),
  })
  const startInstance = async () => {
    const subscriber = createRedis({ url: server.url, name: 'test-keys', mode: 'wait' })
    resources.defer(() => subscriber.disconnect())
    const cache = await startKeyCache({ keys, redis, subscriber, logger, clock: Date.now })
    resources.defer(() => cache.stop())
    const app = Fastify()
    app.decorateRequest('bodyBytes', 0)
    await app.register(sendErrors, { logger })
    await app.register(authenticate, {
      keys: cache,
      limits: LIMITS,
      clock: Date.now,
    })
    await app.register(surfaceAccess)
    const onRequest = [app.requireKey, app.requireSurface('embeddings')]
    app.post('/v1/embeddings', { onRequest }, async () => ({ ok: true }))
    return app
  }
  instances = [await startInstance(), await startInstance()]
})
afterAll(() => resources.disposeAsync())

const ask = async (app: FastifyInstance, secret: string) =>
  (
    await app.inject({
      method: 'POST',
      url: '/v1/embeddings',
      headers: { authorization: `Bearer ${secret}` },
      payload: {},
    })
  ).statusCode
const expectEverywhere = (secret: string, status: number) =>
  vi.waitFor(
    async () => {
      for (const app of instances) expect(await ask(app, secret)).toBe(status)
    },
    { timeout: KNOWN_WITHIN_MS },
  )
const actionsOn = (target: string) =>
  ledger.postgres.operatorAction.findMany({
    where: { target },
    orderBy: { id: 'asc' },
    select: { action: true, outcome: true, details: true },
  })

test('a surface opened to an account is open to its keys and no others, and closes again, at every instance', async () => {
  const [account, other] = [
    await openTestAccount(ledger.postgres, 1n),
    await openTestAccount(ledger.postgres, 1n),
  ]
  const [mine, mineToo, stranger] = await Promise.all([
    keys.create(account, PLAIN_KEY),
    keys.create(account, PLAIN_KEY),
    keys.create(other, PLAIN_KEY),
  ])
  const holder = await surfaces.findHolder({ account })
  for (const { secret } of [mine, mineToo, stranger]) await expectEverywhere(secret, 404)
  const opened = await surfaces.open(OPERATOR, 'embeddings', holder)
  expect(await surfaces.open(OPERATOR, 'embeddings', holder)).toEqual(opened)
  for (const { secret } of [mine, mineToo]) await expectEverywhere(secret, 200)
  await expectEverywhere(stranger.secret, 404)
  expect(await surfaces.list(holder)).toEqual([opened])
  await surfaces.close(OPERATOR, 'embeddings', holder)
  for (const { secret } of [mine, mineToo]) await expectEverywhere(secret, 404)
  const details = { surface: 'embeddings' }
  expect(await actionsOn(account)).toEqual([
    { action: 'surface.open', outcome: 'asked', details },
    { action: 'surface.open', outcome: 'asked', details },
    { action: 'surface.close', outcome: 'asked', details },
  ])
})

test('a surface opened to one key is open to that key alone', async () => {
  const account = await openTestAccount(ledger.postgres, 1n)
  const [opened, other] = [await keys.create(account, PLAIN_KEY), await keys.create(account, PLAIN_KEY)]
  await surfaces.open(OPERATOR, 'embeddings', { keyId: opened.key.id })
  await surfaces.open(OPERATOR, 'rerank', { keyId: other.key.id })
  await expectEverywhere(opened.secret, 200)
  await expectEverywhere(other.secret, 404)
  expect(await actionsOn(opened.key.id)).toMatchObject([{ action: 'surface.open' }])
})

test('a surface opened to every account is open to all their keys, and closes again, at every instance', async () => {
  const account = await openTestAccount(ledger.postgres, 1n)
  const [first, second] = [
    await keys.create(account, PLAIN_KEY),
    await keys.create(await openTestAccount(ledger.postgres, 1n), PLAIN_KEY),
  ]
  for (const { secret } of [first, second]) await expectEverywhere(secret, 404)
  const everyone = await surfaces.findHolder({ everyAccount: true })
  const opened = await surfaces.open(OPERATOR, 'embeddings', everyone)
  expect(await surfaces.open(OPERATOR, 'embeddings', everyone)).toEqual(opened)
  for (const { secret } of [first, second]) await expectEverywhere(secret, 200)
  expect(await surfaces.list(everyone)).toEqual([opened])
  const found = (await surfaces.listOfAccount(account)).find(({ id }) => id === 'embeddings')
  expect(found?.grants).toMatchObject([{ accountId: null, keyId: null, openedBy: OPERATOR.actor }])
  await surfaces.close(OPERATOR, 'embeddings', everyone)
  for (const { secret } of [first, second]) await expectEverywhere(secret, 404)
})

test('only surfaces that wait for it are opened, and only to what may use them', async () => {
  const account = await openTestAccount(ledger.postgres, 1n)
  const admin = await keys.createOfOperator(await openTestOperator(ledger.postgres), PLAIN_KEY)
  const holder = { accountId: account }
  await expect(surfaces.open(OPERATOR, 'chat-completions', holder)).rejects.toThrow('Every key may use')
  await expect(surfaces.open(OPERATOR, 'videos', holder)).rejects.toThrow('cannot be opened')
  await expect(surfaces.open(OPERATOR, 'nothing', holder)).rejects.toThrow('There is no surface nothing.')
  await expect(surfaces.close(OPERATOR, 'embeddings', holder)).rejects.toThrow('was not open')
  await expect(surfaces.findHolder({ keyId: admin.key.id })).rejects.toThrow('Admin keys')
  await expect(surfaces.findHolder({ account, keyId: admin.key.id })).rejects.toThrow('Name either')
  await expect(surfaces.findHolder({ account, everyAccount: true })).rejects.toThrow('Name either')
  await expect(surfaces.findHolder({ account: 'nobody@example.test' })).rejects.toThrow('no such account')
})
