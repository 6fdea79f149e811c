import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { PlatformKeyStored, ProviderView } from '../../src/core/api/offers.ts'
import type { OperatorActionView } from '../../src/core/api/operations.ts'
import type { List, Page } from '../../src/core/api/shared.ts'
import { CATALOG_OVERLAY } from '../../src/platform/redis/redis-keys.ts'
import {
  AWS_ACCESS_KEY_ID,
  AWS_SECRET,
  AZURE_APPLICATION,
} from '../../tools/simulated-providers/clouds/cloud-access.ts'
import { type AdminClient, adminClient } from '../helpers/admin-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectAbsent, postgresText, redisText } from '../helpers/everything-stored.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'
import {
  type Call,
  caller,
  completionOf,
  expectError,
  type ReadStream,
  readStream,
  recordOf,
} from '../http/wire.ts'

const ENVIRONMENT_KEY = 'sk-environment-0123456789abcdef'
const ACCEPTED_KEY = `sk-accepted-${randomBytes(16).toString('hex')}`
const newSecret = () => `sk-stored-${randomBytes(16).toString('hex')}`

let stack: TestStack
let admin: AdminClient
let call: Call
let accountId: string
/** A provider that lists its models for one key only. */
let strict: Server
const log: string[] = []
const secrets: string[] = [ENVIRONMENT_KEY, ACCEPTED_KEY]

beforeAll(async () => {
  vi.stubEnv('PLATFORM_TEST_BETA_KEY', ENVIRONMENT_KEY)
  strict = createServer(({ headers: { authorization } }, response) => {
    response.writeHead(authorization === `Bearer ${ACCEPTED_KEY}` ? 200 : 401).end('{"data":[]}')
  })
  await new Promise<void>((resolve) => strict.listen(0, '127.0.0.1', resolve))
  const logger = pino({ level: 'debug' }, { write: (line: string) => void log.push(line) })
  stack = await startStack({
    models: {
      'own/unset': [{ at: 'alpha', model: 'words-12.auth' }],
      'own/set': [{ at: 'beta', model: 'words-12.auth.tag-beta' }],
      'own/open': [{ at: 'delta', model: 'words-12' }],
      'own/held': [{ at: 'gamma', model: 'words-12.auth.held-3' }],
      'own/limited': [{ at: 'gamma', model: 'words-12.per-key-2' }],
    },
    providerKeyNames: {
      ...{ alpha: 'PLATFORM_TEST_UNSET_KEY', beta: 'PLATFORM_TEST_BETA_KEY' },
      gamma: 'PLATFORM_TEST_GAMMA_KEY',
    },
    logger,
  })
  admin = adminClient(stack, await stack.adminKey())
  const account = await stack.account('1.00')
  accountId = account.accountId
  call = caller(stack, account)
})
afterAll(async () => {
  await stack?.close()
  strict?.close()
  vi.unstubAllEnvs()
})

const provider = async (id: string): Promise<ProviderView> =>
  (await admin.get<List<ProviderView>>('/providers')).data.find((row) => row.id === id)!
const store = async (id: string, secret = newSecret()) => {
  secrets.push(secret)
  return { secret, answer: await admin.post<PlatformKeyStored>(`/providers/${id}/key`, { key: secret }) }
}
const lastKey = (id: string): string | undefined =>
  stack.providers.log.requests
    .findLast((request) => request.provider === id)
    ?.headers.authorization?.replace('Bearer ', '')

test('a stored key makes a provider usable without a restart, is used by workers, and can be replaced', async () => {
  expect(await provider('alpha')).toMatchObject({
    shared_offers: 0,
    key: { source: 'none', variable: 'PLATFORM_TEST_UNSET_KEY', stored: null },
  })
  await expectError(await call({ model: 'own/unset' }), 503, 'no_provider_available')

  const first = await store('alpha')
  expect(first.answer).toEqual({
    object: 'platform_key',
    provider: 'alpha',
    id: 'main',
    check: 'unknown',
    announced: true,
  })
  expect(await provider('alpha')).toMatchObject({
    shared_offers: 1,
    key: { source: 'stored', stored: { last4: first.secret.slice(-4) } },
  })
  await eventually(async () => void (await completionOf(await call({ model: 'own/unset' }))))
  expect(lastKey('alpha')).toBe(first.secret)

  const second = await store('alpha')
  await eventually(async () => {
    await completionOf(await call({ model: 'own/unset' }))
    expect(lastKey('alpha')).toBe(second.secret)
  })
})

test('a stored key is used instead of that of the environment, which is used again when it is removed', async () => {
  expect(await provider('beta')).toMatchObject({
    key: { source: 'environment', variable: 'PLATFORM_TEST_BETA_KEY', stored: null },
  })
  await completionOf(await call({ model: 'own/set' }))
  expect(lastKey('beta')).toBe(ENVIRONMENT_KEY)
  const { secret } = await store('beta')
  await eventually(async () => {
    await completionOf(await call({ model: 'own/set' }))
    expect(lastKey('beta')).toBe(secret)
  })
  await admin.post('/providers/beta/key/remove')
  await eventually(async () => {
    await completionOf(await call({ model: 'own/set' }))
    expect(lastKey('beta')).toBe(ENVIRONMENT_KEY)
  })
  await expectError(await admin.send('POST', '/providers/beta/key/remove'), 404, 'not_found')
})

test('keys are added, rotated and drained without a lost call', async () => {
  const usedBy = () =>
    stack.providers.log.requests
      .filter((request) => request.provider === 'gamma')
      .map(({ headers }) => headers.authorization?.replace('Bearer ', ''))
  const held = async () => {
    const before = usedBy().length
    const running = call({ model: 'own/held' })
    await eventually(() => expect(usedBy()).toHaveLength(before + 1))
    // Not awaited by whoever awaits this.
    return { running }
  }
  const first = await store('gamma')
  const before = await eventually(async () => {
    expect((await provider('gamma')).shared_offers).toBe(2)
    return held()
  })
  await admin.send('PATCH', '/providers/gamma/keys/main', { usd_per_day: 50, usd_per_month: 500 })
  const secret = newSecret()
  secrets.push(secret)
  const body = { key: secret, name: 'second', in_place_of: 'main' }
  const added = await admin.post<PlatformKeyStored>('/providers/gamma/keys', body)
  expect((await provider('gamma')).key).toMatchObject({
    pool: [
      { id: 'main', state: 'draining', weight: 1, last4: first.secret.slice(-4), health: null },
      {
        ...{ id: added.id, state: 'active', name: 'second', source: 'stored', usable: true },
        ...{ usd_per_day: 50, usd_per_month: 500 },
      },
    ],
  })
  const after = await eventually(async () => {
    const call = await held()
    expect(usedBy().at(-1)).toBe(secret)
    return call
  })
  stack.providers.release()
  for (const { running } of [before, after]) await completionOf(await running)

  // Both are used again: neither has more than two requests of a minute.
  await admin.send('PATCH', '/providers/gamma/keys/main', { state: 'active', weight: 2 })
  const from = usedBy().length
  await eventually(async () => {
    await completionOf(await call({ model: 'own/limited' }))
    expect(new Set(usedBy().slice(from))).toEqual(new Set([first.secret, secret]))
  })
  const { data } = await admin.get<Page<OperatorActionView>>('/actions?target=gamma')
  expect(data.map(({ action }) => action)).toContain('platform-key.change')
  await admin.post(`/providers/gamma/keys/${added.id}/remove`)
  expect((await provider('gamma')).key.pool).toMatchObject([{ id: 'main', weight: 2 }])
  await expectError(await admin.send('PATCH', '/providers/gamma/keys/none', { weight: 1 }), 404, 'not_found')
})

test('it outlives restarts of workers and of the API, and Redis without its data', async () => {
  const { secret } = await store('alpha')
  await stack.redis.del(CATALOG_OVERLAY)
  const [worker] = stack.dispatch
  await stack.startDispatch()
  await worker!.stop()
  await stack.apis[0]!.stop()
  await stack.restartApi(0)
  await eventually(async () => {
    await completionOf(await call({ model: 'own/unset' }))
    expect(lastKey('alpha')).toBe(secret)
  })
})

test('what is refused is not stored', async () => {
  const document = JSON.parse(await readFile(stack.catalogFile, 'utf8'))
  const { port } = strict.address() as AddressInfo
  document.providers.push({
    id: 'strict',
    base_url: `http://127.0.0.1:${port}`,
    api_key_env: 'PLATFORM_TEST_STRICT_KEY',
  })
  document.models[0].offers.push({ provider: 'strict', upstream_model: 'any' })
  await writeFile(stack.catalogFile, JSON.stringify(document))
  await eventually(async () => expect(await provider('strict')).toBeDefined())

  const wrong = newSecret()
  const send = (id: string, body: unknown) => admin.send('POST', `/providers/${id}/key`, body)
  const refused = await expectError(await send('strict', { key: wrong }), 400, 'invalid_request')
  expect(refused.message).toBe('The provider rejects this key. It was not stored.')
  expect((await provider('strict')).key).toMatchObject({ source: 'none', stored: null })
  const accepted = await store('strict', ACCEPTED_KEY)
  expect(accepted.answer.check).toBe('accepted')

  await expectError(await send('nobody', { key: wrong }), 404, 'not_found')
  await expectError(await send('delta', { key: wrong }), 400, 'invalid_request')
  const spaced = await expectError(await send('alpha', { key: `${wrong} x` }), 400, 'invalid_request')
  expect(spaced.message).not.toContain(wrong)
  await expectError(await send('alpha', {}), 400, 'invalid_request')
  await expectError(await send('alpha', { key: wrong, more: 1 }), 400, 'invalid_request')
  const own = await stack.account('1.00')
  await expectError(
    await adminClient(stack, own.key).send('POST', '/providers/alpha/key', { key: wrong }),
    403,
    'not_permitted',
  )
  secrets.push(wrong)
})

describe('a cloud with a stored key', () => {
  const tokenUrl = (cloud: string) => `${stack.providers.url}/cloud${cloud}/${cloud}/token`
  const CLOUDS = {
    azure: () => ({
      ...{ wire: 'chat-completions', path: 'azure', key: Object.values(AZURE_APPLICATION).join(':') },
      credentials: { kind: 'azure', token_url: `${tokenUrl('azure')}/{tenant}` },
      quirks: { path: '/openai/deployments/{model}/chat/completions?api-version=2024-10-21' },
    }),
    gemini: () => ofVertex('google-generate-content', 'google'),
    vertex: () => ofVertex('anthropic-messages', 'anthropic'),
    bedrock: () => ofBedrock('bedrock-converse'),
    invoke: () => ofBedrock('anthropic-messages'),
    refused: () => ({ ...ofBedrock('bedrock-converse'), key: `${AWS_ACCESS_KEY_ID}:another-secret` }),
  }
  const ofVertex = (wire: string, publisher: string) => ({
    ...{ wire, path: `google/publishers/${publisher}` },
    key: Buffer.from(stack.providers.clouds.serviceAccount()).toString('base64'),
    credentials: { kind: 'google', token_url: tokenUrl('google') },
  })
  const ofBedrock = (wire: string) => ({
    ...{ wire, path: 'aws', key: `${AWS_ACCESS_KEY_ID}:${AWS_SECRET}` },
    credentials: { kind: 'aws', region: 'us-east-1' },
  })

  beforeAll(async () => {
    const document = JSON.parse(await readFile(stack.catalogFile, 'utf8'))
    const plain = document.models.find(({ id }: { id: string }) => id === 'own/open')
    const keys = new Map<string, string>()
    for (const [name, cloud] of Object.entries(CLOUDS)) {
      const { key, path, ...fields } = cloud()
      const id = `cloud${name}`
      keys.set(id, key)
      document.providers.push({
        ...{ id, base_url: `${stack.providers.url}/${id}/${path}`, ...fields },
        api_key_env: `PLATFORM_TEST_${name.toUpperCase()}_KEY`,
      })
      const offer = { ...plain.offers[0], provider: id, priority: 1 }
      document.models.push({ ...plain, id: `cloud/${name}`, offers: [offer] })
      if (name === 'refused')
        document.models.push({ ...plain, id: 'cloud/rescued', offers: [offer, ...plain.offers] })
    }
    await writeFile(stack.catalogFile, JSON.stringify(document))
    await eventually(async () => expect(await provider('cloudrefused')).toBeDefined())
    for (const [id, key] of keys) await store(id, key)
  })

  test.each(['azure', 'gemini', 'vertex', 'bedrock', 'invoke'])(
    '%s serves calls of customers, whole and streamed, at the right charge',
    async (name) => {
      const model = `cloud/${name}`
      const whole = await eventually(async () => {
        const response = await call({ model })
        return { response, ...(await completionOf(response)) }
      })
      const response = await call({ model, stream: true })
      const stream: ReadStream = readStream(await response.text())
      expect(stream.isDone).toBe(true)
      expect(stream.content).toBe(whole.choices[0]!.message.content)
      expect(stream.content.split(' ')).toHaveLength(12)
      await stack.settled(accountId)
      for (const each of [whole.response, response]) {
        const { prompt_tokens: prompt, completion_tokens: completion } = whole.usage!
        const record = await recordOf(stack, each)
        expect(record).toMatchObject({
          ...{ status: 'completed', usageSource: 'upstream' },
          ...{ promptTokens: prompt, completionTokens: 12 },
          chargePico: BigInt(prompt) * 1_000_000n + BigInt(completion) * 2_000_000n,
        })
        expect(record.attempts).toMatchObject([{ offerId: `cloud${name}/words-12`, outcome: 'ok' }])
      }
    },
  )

  test('is checked by a command, whose result its page shows', async () => {
    expect(await provider('cloudbedrock')).toMatchObject({ credentials: 'aws', check: null })
    const { json } = await stack.command('catalog', 'check', 'cloudbedrock')
    const { check } = await provider('cloudbedrock')
    expect(check).toMatchObject({ model: 'cloud/bedrock', left_out: expect.arrayContaining(['images']) })
    expect(check!.ok).toEqual(expect.arrayContaining(['completion', 'tools', 'refusal of a key']))
    expect(check!.fails).toEqual([])
    const found = [...check!.ok, ...check!.differs, ...check!.left_out]
    expect(found).toHaveLength((json.findings as object[]).length)
  })

  test('that refuses the signature is left for another provider, and is an error without one', async () => {
    const response = await eventually(async () => {
      const answer = await call({ model: 'cloud/rescued' })
      await completionOf(answer)
      return answer
    })
    await stack.settled(accountId)
    expect(await recordOf(stack, response)).toMatchObject({
      attempts: [
        { offerId: 'cloudrefused/words-12@cloud/rescued', outcome: 'refused', httpStatus: 403 },
        { offerId: 'delta/words-12@cloud/rescued', outcome: 'ok' },
      ],
    })
    const alone = await expectError(await call({ model: 'cloud/refused' }), 502, 'all_providers_failed')
    expect(alone.message).not.toMatch(/cloud|aws/i)
  })
})

test('each change is in the audit log, and no secret is in logs, answers, PostgreSQL or Redis', async () => {
  const { data } = await admin.get<Page<OperatorActionView>>('/actions?target=strict')
  expect(data.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
    'platform-key.store asked',
    'platform-key.store failed',
    'platform-key.store asked',
  ])
  expectAbsent(log.join('\n'), secrets, 'the logs')
  expectAbsent(JSON.stringify(await admin.get('/providers')), secrets, 'GET /providers')
  expectAbsent(await redisText(stack), secrets, 'Redis')
  expectAbsent(await postgresText(stack), secrets, 'PostgreSQL')
})
