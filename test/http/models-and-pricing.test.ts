import { Ajv } from 'ajv'
import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import type { VisitorView } from '../../src/core/api/gateway.ts'
import type { ModelDetails, ModelFactsList, ModelProviderList } from '../../src/core/api/models.ts'
import { consoleClient, signedUp } from '../helpers/console-client.ts'
import { onBusyMachine } from '../helpers/eventually.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { caller, completionOf, expectError } from './wire.ts'

const DECIMAL = '^\\d+\\.\\d{2,6}$'

/** The pricing feed as the contract lists it; nothing else may be in it. */
const FEED_SCHEMA = {
  type: 'object',
  required: ['version', 'generated_at', 'currency', 'unit', 'data'],
  additionalProperties: false,
  properties: {
    version: { type: 'string', minLength: 1 },
    generated_at: {},
    currency: { const: 'USD' },
    unit: { const: 'per_million_tokens' },
    data: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        required: [
          'id',
          'name',
          'vendor',
          'prompt',
          'completion',
          'list_prompt',
          'list_completion',
          'discount',
          'context_length',
          'max_output_tokens',
          'input_modalities',
          'open_weights',
          'zdr',
          'status',
          'updated_at',
        ],
        properties: {
          id: { type: 'string' },
          name: { type: 'string' },
          vendor: { type: 'string' },
          prompt: { type: 'string', pattern: DECIMAL },
          completion: { type: 'string', pattern: DECIMAL },
          list_prompt: { type: 'string', pattern: DECIMAL },
          list_completion: { type: 'string', pattern: DECIMAL },
          discount: {},
          context_length: { type: 'integer' },
          max_output_tokens: { type: 'integer' },
          input_modalities: { type: 'array', items: { type: 'string' } },
          open_weights: { type: 'boolean' },
          zdr: { type: 'boolean' },
          status: { type: 'string' },
          updated_at: {},
        },
      },
    },
  },
}

const MODELS = {
  'test/plain': { max_output_tokens: 4_321, offers: [{ at: 'alpha', model: 'words-12' }] },
  'test/open': {
    open_weights: true,
    quality: { code: { value: 0.5, standard_error: 0.1, source: 'A benchmark', date: '2030-01-01' } },
    deprecated_at: '2031-01-31',
    max_output_tokens: undefined,
    list_price: { prompt: '1.00', completion: '3.333333' },
    rate: undefined,
    offers: [{ at: 'beta', model: 'words-12' }],
  },
  'gpt-test': {
    vendor: 'openai',
    list_price: { prompt: '1.00', completion: '2.00' },
    rate: undefined,
    offers: [{ at: 'alpha', model: 'words-12.tag-bare' }],
  },
}

const stack = testStack({ models: MODELS, durableRedis: true })
const owner = testAccount(stack, '1.00')

const get = (path: string, headers: Record<string, string> = {}) => fetch(stack.url + path, { headers })

describe('GET /v1/models', () => {
  test('gives an ordinary key one opaque entry', async () => {
    const response = await get('/v1/models', { authorization: `Bearer ${owner.key}` })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      object: 'list',
      data: [{ id: 'auto', object: 'model', created: expect.any(Number), owned_by: 'shuntyard' }],
    })
  })

  test('gives an admin key the catalog', async () => {
    const response = await get('/v1/models', { authorization: `Bearer ${await stack.adminKey()}` })
    const { data } = (await response.json()) as { data: { id: string; object: string }[] }
    expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining(['test/plain', 'test/open', 'gpt-test']))
    expect(data.every(({ object }) => object === 'model')).toBe(true)
  })

  test('asks for a key', async () => {
    await expectError(await get('/v1/models'), 401, 'missing_api_key')
  })
})

describe('GET /v2/models', () => {
  const ask = (path: string) => get(path, { authorization: `Bearer ${owner.key}` })

  test('lists the catalog for the client libraries, without targets and costs', async () => {
    const { data } = (await (await ask('/v2/models')).json()) as { data: Array<Record<string, unknown>> }
    expect(await (await ask('/v2/models/count')).json()).toEqual({ data: { count: data.length } })
    expect(data[0]).toMatchObject({ id: 'auto' })
    expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining(['test/plain', 'test/open', 'gpt-test']))
    const plain = data.find(({ id }) => id === 'test/plain')!
    expect(plain).toMatchObject({
      ...{ object: 'model', owned_by: 'test', kind: 'chat', max_output_tokens: 4_321, status: 'available' },
      ...{ created: expect.any(Number), supported_parameters: expect.any(Array) },
      rate: { prompt: expect.any(String), completion: expect.any(String) },
    })
    expect(JSON.stringify(data)).not.toMatch(/offers|cost|alpha|words-12/)
  })

  test('has the fields that libraries of other routers require of a list and of every model of it', async () => {
    const { data, ...list } = (await (await ask('/v2/models')).json()) as {
      data: Array<
        Record<'id', string> & Record<'pricing' | 'rate', { prompt: string }> & { reasoning?: object }
      >
    }
    expect(list).toEqual({ object: 'list', total_count: data.length, links: { next: null } })
    for (const model of data) {
      expect(model).toMatchObject({
        ...{ name: expect.any(String), canonical_slug: model.id, links: { details: expect.any(String) } },
        architecture: { input_modalities: expect.arrayContaining(['text']), output_modalities: ['text'] },
        pricing: { prompt: expect.any(String), completion: expect.any(String) },
        supported_parameters: expect.any(Array),
        top_provider: { is_moderated: false },
        ...{ default_parameters: null, per_request_limits: null, supported_voices: null },
      })
      expect(typeof (model.reasoning ?? {})).toBe('object')
    }
    const { pricing, rate } = data.find(({ id }) => id === 'test/plain')!
    expect(Number(pricing.prompt) * 1_000_000).toBeCloseTo(Number(rate.prompt), 6)
  })

  test('gives one model by its id', async () => {
    expect(await (await ask('/v2/models/test%2Fplain')).json()).toMatchObject({
      id: 'test/plain',
      description: expect.stringContaining('4,321 tokens'),
    })
    expect(await (await ask('/v2/models/auto')).json()).toMatchObject({ id: 'auto', owned_by: 'shuntyard' })
    await expectError(await ask('/v2/models/test%2Fnone'), 404, 'model_not_found')
  })

  test('asks for a key', async () => {
    await expectError(await get('/v2/models'), 401, 'missing_api_key')
  })
})

interface Feed {
  version: string
  data: Record<string, unknown>[]
}
const feed = async () => (await (await get('/pricing.json')).json()) as Feed

describe('GET /pricing.json', () => {
  test('needs no key, may be cached for a minute and read from any origin', async () => {
    const response = await get('/pricing.json')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(response.headers.get('cache-control')).toContain('max-age=60')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    const etag = response.headers.get('etag')!
    expect(etag).toMatch(/^"[^"]+"$/)
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      expect((await get('/pricing.json', { 'if-none-match': tag })).status).toBe(304)
    }
    expect((await get('/pricing.json', { 'if-none-match': '"other"' })).status).toBe(200)
  })

  test('lets another origin ask whether its copy is still right', async () => {
    const preflight = await fetch(`${stack.url}/pricing.json`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://example.com',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'if-none-match',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    expect(preflight.headers.get('access-control-allow-methods')).toContain('GET')
    expect(preflight.headers.get('access-control-allow-headers')).toBe('if-none-match')
    expect((await get('/pricing.json')).headers.get('access-control-expose-headers')).toBe('etag')
    await expectError(await fetch(`${stack.url}/pricing.json`, { method: 'POST' }), 405, 'method_not_allowed')
  })

  test('holds exactly the fields of the contract, rates as decimal strings, and no provider', async () => {
    const body = await feed()
    const validate = new Ajv({ strict: false }).compile(FEED_SCHEMA)
    validate(body)
    expect(validate.errors).toBeNull()
    expect(JSON.stringify(body)).not.toMatch(/alpha|beta|words-12/)
  })

  test('lists the rate less 5 %, or less 20 % for open weights, cut to six decimals', async () => {
    const { data } = await feed()
    const entry = (id: string) => data.find((model) => model.id === id)
    expect(entry('gpt-test')).toMatchObject({ prompt: '0.95', completion: '1.90', list_prompt: '1.00' })
    expect(entry('test/open')).toMatchObject({ prompt: '0.80', completion: '2.666666', open_weights: true })
    expect(entry('test/plain')).toMatchObject({ zdr: true, context_length: 100_000, vendor: 'test' })
  })

  test('follows a changed catalog file without a restart, as routing does; a broken one changes nothing', async () => {
    const before = await feed()
    await stack.writeCatalog({ ...MODELS, 'test/new': [{ at: 'alpha', model: 'words-12.tag-new' }] })
    await expect.poll(async () => (await feed()).version).not.toBe(before.version)
    expect((await feed()).data.map(({ id }) => id)).toContain('test/new')
    const call = caller(stack, owner)
    // Each process reads the file for itself; a worker that has not yet answers with a failure.
    await expect.poll(async () => (await call({ model: 'test/new' })).status).toBe(200)
    await stack.writeCatalog({ 'test/new': [] })
    const tag = `"${(await feed()).version}"`
    expect((await get('/pricing.json', { 'if-none-match': tag })).status).toBe(304)
    await completionOf(await call({ model: 'test/new' }))
    await stack.writeCatalog(MODELS)
    await expect.poll(async () => (await call({ model: 'test/new' })).status).toBe(404)
  })
})

describe('what the console says of models', () => {
  test('is for everyone: makers, capabilities, and output limits only where they are stated', async () => {
    const response = await get('/console/api/models', { 'accept-encoding': 'gzip' })
    expect(response.headers.get('content-encoding')).toBe('gzip')
    const text = await response.text()
    expect(text).not.toMatch(/alpha|beta|words-12/)
    const { data } = JSON.parse(text) as ModelFactsList
    const facts = (id: string) => data.find((model) => model.id === id)
    expect(facts('gpt-test')).toMatchObject({ maker: 'OpenAI', popularity: null, quality: null })
    expect(facts('test/plain')).toMatchObject({ maker: 'test', max_output_tokens: 4_321, reasoning: false })
    expect(facts('test/open')).toMatchObject({ max_output_tokens: null, deprecated_at: '2031-01-31' })
    expect(facts('test/open')?.quality).toMatchObject({ basis: 'other kinds', source: null })
  })

  test('has days and prices of a model, also by an alias and without a session', async () => {
    const response = await get('/console/api/models/openai%2Fgpt-test')
    const text = await response.text()
    expect(text).not.toMatch(/alpha|words-12/)
    const details = JSON.parse(text) as ModelDetails
    expect(details).toMatchObject({ id: 'gpt-test', quality: [] })
    expect(details.prices).toMatchObject([{ prompt: '0.95', completion: '1.90', units: null }])
    await expectError(await get('/console/api/models/nobody'), 404, 'not_found')
    const { gateway } = (await (await get('/console/api/visitor')).json()) as VisitorView
    expect(gateway.catalog).toEqual({ models: 3, developers: 2 })
  })

  test('names providers only to accounts, which can pin them, by any alias of a model', async () => {
    await expectError(await get('/console/api/models/test%2Fplain/providers'), 401, 'not_signed_in')
    const client = await signedUp(stack.url)
    const read = (id: string) =>
      client.json<ModelProviderList>(`/console/api/models/${encodeURIComponent(id)}/providers`)
    const list = await read('openai/gpt-test')
    expect(list.model).toBe('gpt-test')
    expect(list.data).toMatchObject([{ id: 'alpha', own_key_only: false, uptime: null }])
    expect(JSON.stringify(list)).not.toMatch(/words-12|tag-bare|cost|priority/)
    expect((await client.ask('/console/api/models/nobody/providers')).status).toBe(404)
  })
})

describe('health', () => {
  test('health needs no key', async () => {
    expect(await (await get('/healthz')).json()).toEqual({ status: 'ok' })
    expect(await (await get('/readyz')).json()).toEqual({ status: 'ready' })
  })

  const readiness = async () => (await get('/readyz')).status

  test('readiness without PostgreSQL is degraded, and calls continue', async () => {
    const database = new URL(stack.environment.DATABASE_URL!).pathname.slice(1)
    const call = caller(stack, owner)
    expect((await call({ model: 'test/plain' })).status).toBe(200)
    const admin = new Client({ connectionString: process.env.TEST_DATABASE_URL })
    await admin.connect()
    try {
      await admin.query(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS false`)
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
        database,
      ])
      const response = await get('/readyz')
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({ status: 'degraded', away: ['postgresql'] })
      expect(await (await get('/healthz')).json()).toEqual({ status: 'ok' })
      expect((await call({ model: 'test/plain' })).status).toBe(200)
    } finally {
      await admin.query(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS true`)
      await admin.end()
    }
    const status = async () => ((await (await get('/readyz')).json()) as { status: string }).status
    await expect.poll(status).toBe('ready')
  })

  test('is not ready while Redis refuses writes, and calls are refused', async () => {
    await stack.redis.config('SET', 'maxmemory', '1')
    try {
      const response = await get('/readyz')
      expect(await expectError(response, 503, 'overloaded')).toMatchObject({
        type: 'overloaded_error',
        message: 'Not ready: Redis refuses writes.',
      })
      expect(response.headers.get('retry-after')).toBe('1')
      await expectError(await caller(stack, owner)({ model: 'test/plain' }), 503, 'overloaded')
    } finally {
      await stack.redis.config('SET', 'maxmemory', '0')
    }
    await expect.poll(readiness).toBe(200)
  })

  test('is not ready without Redis, and calls are refused at once', async () => {
    // The test's own client says on the console that it lost its server, unless somebody listens.
    stack.redis.on('error', () => undefined)
    await stack.redisServer.kill()
    await expect.poll(readiness).toBe(503)
    const call = caller(stack, owner)
    const startedAt = performance.now()
    const response = await call({ model: 'test/plain' })
    await expectError(response, 503, 'overloaded')
    expect(response.headers.get('retry-after')).toBe('1')
    expect(performance.now() - startedAt).toBeLessThan(onBusyMachine(2_000))
    // Whatever else needs Redis says so too.
    const body = { email: 'nobody@example.test', password: 'not a password of anybody' }
    await expectError(await consoleClient(stack.url).ask('/console/api/sign-in', { body }), 503, 'overloaded')
    await stack.redisServer.restart()
    await expect.poll(readiness).toBe(200)
    await expect.poll(async () => (await call({ model: 'test/plain' })).status).toBe(200)
  })
})
