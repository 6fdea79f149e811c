import { randomBytes } from 'node:crypto'
import pino from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectAbsent, postgresText, redisText } from '../helpers/everything-stored.ts'
import { startRedisMonitor } from '../helpers/redis-monitor.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'
import { caller, expectError } from './wire.ts'

const PATH = '/v1/provider-keys'
const MAY_MANAGE_KEYS = { scopes: ['provider_keys'] }
const newSecret = () => `sk-client-${randomBytes(24).toString('hex')}`

const logLines: string[] = []
let stack: TestStack
let key: string

beforeAll(async () => {
  vi.stubEnv('KEYS_TEST_ALPHA_KEY', 'sk-ours')
  stack = await startStack({
    models: {
      'own/plain': [
        { at: 'alpha', model: 'words-12.auth' },
        { at: 'keyless', model: 'words-12' },
      ],
      'own/echo': [{ at: 'alpha', model: 'echo' }],
      ...Object.fromEntries(
        ['status-401', 'status-403', 'status-429', 'status-400', 'hang', 'reset', 'cut-after-5'].map(
          (fault) => [`own/${fault}`, [{ at: 'alpha', model: `words-12.${fault}` }]],
        ),
      ),
    },
    providerKeyNames: { alpha: 'KEYS_TEST_ALPHA_KEY' },
    environment: {
      FIRST_TOKEN_TIMEOUT_MS: '3000',
      LAST_FIRST_TOKEN_TIMEOUT_MS: '3000',
      RETRY_BUDGET_FLOOR: '10000',
    },
    logger: pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) }),
  })
})
beforeEach(async () => {
  ;({ key } = await stack.account('1.00', MAY_MANAGE_KEYS))
})
afterAll(async () => {
  await stack?.close()
  vi.unstubAllEnvs()
})

function ask(method: string, path = PATH, body?: unknown, by = key): Promise<Response> {
  return fetch(stack.url + path, {
    method,
    headers: {
      authorization: `Bearer ${by}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
}
async function create(body: Record<string, unknown>, by = key) {
  const response = await ask('POST', PATH, { provider: 'alpha', ...body }, by)
  expect(response.status).toBe(201)
  return (await response.json()) as Record<string, unknown> & { id: string }
}
const listOf = async (by = key) =>
  (await (await ask('GET', PATH, undefined, by)).json()) as {
    data: Array<Record<string, unknown>>
    providers: string[]
  }

describe('provider keys over the API', () => {
  test('are stored, listed, changed and deleted, and never shown again', async () => {
    const secret = newSecret()
    const response = await ask('POST', PATH, { provider: 'alpha', key: secret, name: 'team' })
    expect(response.headers.get('cache-control')).toBe('no-store')
    const text = await response.text()
    expect(text).not.toContain(secret)
    const created = JSON.parse(text)
    expect(created).toEqual({
      id: expect.stringMatching(/^pkey_/),
      object: 'provider_key',
      provider: 'alpha',
      name: 'team',
      last4: secret.slice(-4),
      allow_fallback: false,
      // The simulated provider lists its models for everybody, which says nothing of a key.
      status: 'unchecked',
      accepted_at: null,
      failing_since: null,
      failures: 0,
      last_error: null,
      last_error_at: null,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    expect((await listOf()).data).toEqual([created])
    const changed = await ask('PATCH', `${PATH}/${created.id}`, {
      name: 'n',
      allow_fallback: true,
      disabled: true,
    })
    expect(await changed.json()).toEqual({ ...created, name: 'n', allow_fallback: true, status: 'disabled' })
    const deleted = await ask('DELETE', `${PATH}/${created.id}`)
    expect(await deleted.json()).toEqual({ id: created.id, object: 'provider_key', deleted: true })
    expect((await listOf()).data).toEqual([])
    await expectError(await ask('DELETE', `${PATH}/${created.id}`), 404, 'not_found')
  })

  test('say which providers take keys: those that ask us for one', async () => {
    expect((await listOf()).providers).toEqual(['alpha'])
    const refused = await ask('POST', PATH, { provider: 'keyless', key: newSecret() })
    expect((await expectError(refused, 400, 'invalid_request')).param).toBe('provider')
  })

  test("are no other account's to see, change or delete", async () => {
    const { id } = await create({ key: newSecret() })
    const other = (await stack.account('1.00', MAY_MANAGE_KEYS)).key
    expect((await listOf(other)).data).toEqual([])
    await expectError(await ask('PATCH', `${PATH}/${id}`, { disabled: true }, other), 404, 'not_found')
    await expectError(await ask('DELETE', `${PATH}/${id}`, undefined, other), 404, 'not_found')
    expect((await listOf()).data).toMatchObject([{ id, status: 'unchecked' }])
    for (const method of ['GET', 'POST']) {
      const body = method === 'POST' ? { provider: 'alpha', key: newSecret() } : undefined
      await expectError(await ask(method, PATH, body, await stack.adminKey()), 403, 'not_permitted')
    }
  })

  test.each([
    ['no provider', { key: 'sk-1234567890' }, 'provider'],
    ['an unknown provider', { provider: 'nobody', key: 'sk-1234567890' }, 'provider'],
    ['no key', { provider: 'alpha' }, 'key'],
    ['an empty key', { provider: 'alpha', key: '' }, 'key'],
    ['a key with a line break', { provider: 'alpha', key: 'sk-12345\r\nx-evil: 1' }, 'key'],
    ['a key that is too long', { provider: 'alpha', key: 'k'.repeat(4_097) }, 'key'],
    ['a key that is no text', { provider: 'alpha', key: 7 }, 'key'],
    ['a name that is too long', { provider: 'alpha', key: 'sk-1234567890', name: 'n'.repeat(101) }, 'name'],
    [
      'a text for a flag',
      { provider: 'alpha', key: 'sk-1234567890', allow_fallback: 'yes' },
      'allow_fallback',
    ],
    [
      'a mistyped field',
      { provider: 'alpha', key: 'sk-1234567890', allow_fallbacks: true },
      'allow_fallbacks',
    ],
  ])('are refused with %s, by the name of the field and without its value', async (_, body, param) => {
    const error = await expectError(await ask('POST', PATH, body), 400, 'invalid_request')
    expect(error.param).toBe(param)
    expect(JSON.stringify(error)).not.toContain('sk-1234')
    expect((await listOf()).data).toEqual([])
  })

  test('take a key of the longest allowed length, and a hundred of them an account', async () => {
    const { accountId, key: by } = await stack.account('1.00', MAY_MANAGE_KEYS)
    await create({ key: 'k'.repeat(4_096) }, by)
    const row = { accountId, providerId: 'alpha', secretSealed: 'x', last4: 'xxxx' }
    await stack.postgres.providerKey.createMany({
      data: Array.from({ length: 98 }, (_, at) => ({ ...row, id: `pkey_${accountId}_${at}` })),
    })
    const both = await Promise.all(
      ['a', 'b'].map((letter) => ask('POST', PATH, { provider: 'alpha', key: letter.repeat(20) }, by)),
    )
    expect(both.map(({ status }) => status).sort()).toEqual([201, 400])
  })
})

describe('the secret of a provider key', () => {
  test('is in no answer, no log line, no row, no value in Redis and no command sent to it', async () => {
    const secret = newSecret()
    const broken = newSecret()
    const commands: string[] = []
    const monitor = await startRedisMonitor(stack.redisServer.url, (args) =>
      commands.push(JSON.stringify(args)),
    )
    const texts: string[] = []
    const say = async (response: Response) => {
      texts.push(JSON.stringify([...response.headers]), await response.text())
      return response
    }
    const stored = await create({ key: secret })
    texts.push(JSON.stringify(stored))
    await say(await ask('POST', PATH, `{"provider": "alpha", "key": "${broken}`))
    await say(await ask('POST', PATH, { provider: broken, key: broken }))
    await say(await ask('POST', PATH, { provider: 'alpha', key: `${broken} ${broken}` }))
    await say(await ask('POST', PATH, { provider: 'alpha', key: secret, name: 7 }))
    await say(await ask('PATCH', `${PATH}/${stored.id}`, { key: secret }))
    await say(await ask('GET'))
    const call = caller(stack, { key })
    for (const fault of [
      'plain',
      'echo',
      'status-401',
      'status-403',
      'status-429',
      'status-400',
      'hang',
      'reset',
      'cut-after-5',
    ]) {
      await say(await call({ model: `own/${fault}` }))
      await say(await call({ model: `own/${fault}`, stream: true }))
    }
    const used = stack.providers.log.requests.filter(
      ({ headers }) => headers.authorization === `Bearer ${secret}`,
    )
    expect(used.length).toBeGreaterThan(17)
    const listed = (await listOf()).data[0]!
    texts.push(JSON.stringify(listed))
    await eventually(async () =>
      expect(await stack.redis.llen(`${queuePrefix(0)}:settlement:active`)).toBe(0),
    )
    await monitor.stop()

    const secrets = [secret, secret.slice(10, -4), broken]
    expectAbsent(texts.join('\n'), secrets, 'an answer')
    expectAbsent(logLines.join(''), secrets, 'the logs')
    expectAbsent(await redisText(stack), secrets, 'Redis')
    expectAbsent(await postgresText(stack), secrets, 'PostgreSQL')
    expectAbsent(commands.join('\n'), secrets, 'a command to Redis')
    // The search looks where things are: what may be seen of the key is found.
    expect(commands.join('\n')).toContain(stored.id)
    expect(await postgresText(stack)).toContain(secret.slice(-4))
    expect(logLines.join('')).toContain(stored.id)
  })

  test('opens for no other account and no other key: a sealed text that was moved in the table is of no use', async () => {
    const victim = await create({ key: newSecret() })
    const thief = await stack.account('1.00', MAY_MANAGE_KEYS)
    const stolen = await create({ key: newSecret() }, thief.key)
    await stack.postgres.$executeRaw`
      UPDATE provider_keys SET secret_sealed = (SELECT secret_sealed FROM provider_keys WHERE id = ${victim.id})
      WHERE id = ${stolen.id}`
    stack.providers.log.clear()
    await expectError(await caller(stack, thief)({ model: 'own/plain' }), 503, 'overloaded')
    expect(stack.providers.log.requests).toEqual([])
  })
})
