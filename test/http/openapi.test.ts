import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codeSamples } from '../../src/core/api/surfaces/code-samples.ts'
import { SURFACES } from '../../src/core/api/surfaces/surface-registry.ts'
import { PublishedSurface, type PublishedSurfaceList } from '../../src/core/api/surfaces/surfaces.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { rawExchange } from './wire.ts'

type OpenApi = {
  openapi: string
  paths: Record<string, Record<string, { parameters?: Array<{ name: string; required?: boolean }> }>>
}

interface Content {
  schema: { properties?: { data?: { contentSchema?: object } } }
  example?: unknown
}

interface DescribedOperation {
  'x-status': string
  'x-codeSamples': Array<{ lang: string; source: string }>
  parameters?: Array<{ name: string; in: string }>
  requestBody?: { content: Record<string, Content> }
  responses: Record<number, { content?: Record<string, Content>; headers?: object; description: string }>
  security?: object[]
}

const EMBEDDINGS = {
  kind: 'embeddings',
  dimensions: 4,
  supported_parameters: ['dimensions'],
  list_price: { prompt: '0.02', completion: '0' },
}
const RERANK = { kind: 'rerank', list_price: { prompt: '0.02', completion: '0' } }
const MODERATION = { kind: 'moderation', list_price: { prompt: '0', completion: '0' } }
const NATIVE = { at: 'delta', wire: 'anthropic-messages' as const }
const task = (fields: object, model: string) => ({
  ...fields,
  rate: undefined,
  offers: [{ at: 'alpha', model, cost: '0' }],
})

const AsyncFunction = (async () => undefined).constructor as new (...source: string[]) => unknown

let document: OpenApi

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/reasons': { reasoning: true, offers: [{ at: 'alpha', model: 'reasoning-5.words-12' }] },
    'test/refuses': [{ at: 'alpha', model: 'refuse' }],
    'test/cut': [{ at: 'beta', model: 'words-12.cut-after-5' }],
    'test/native': { reasoning: true, offers: [{ ...NATIVE, model: 'reasoning-5.words-12' }] },
    'test/native-cut': [{ ...NATIVE, model: 'words-12.cut-after-5' }],
    'test/embed': task(EMBEDDINGS, 'dimensions-4'),
    'test/rerank': task(RERANK, 'tag-rerank'),
    'omni-moderation-latest': task(MODERATION, 'tag-moderation'),
  },
})
beforeAll(async () => {
  const response = await fetch(`${stack.url}/openapi.json`)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  document = (await response.json()) as OpenApi
})
afterAll(() => {
  delete process.env.SHUNTYARD_API_KEY
})

test('the document is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined })
  expect(document.openapi).toBe('3.1.0')
})

test('the document names every surface that is served, and none that is not', () => {
  for (const { method, path, access } of SURFACES) {
    const operation = document.paths[path]?.[method.toLowerCase()]
    expect(operation !== undefined, `${method} ${path}`).toBe(access !== 'closed')
  }
})

test('each surface is described with its status and with examples for the address that was asked', async () => {
  const chat = document.paths['/v1/chat/completions']!.post as unknown as DescribedOperation
  expect(chat).toMatchObject({ operationId: 'chat-completions', description: expect.any(String) })
  expect(['Stable', 'Limited']).toContain(chat['x-status'])
  expect(Object.keys(chat.responses[200]!.content!)).toEqual(['application/json', 'text/event-stream'])
  for (const { method, path, status, access } of SURFACES.filter((surface) => surface.access === 'open')) {
    const operation = document.paths[path]![method.toLowerCase()] as unknown as DescribedOperation
    if (status !== 'Stable') expect(operation['x-status'], `${path} ${access}`).toBe(status)
    expect(operation['x-codeSamples'].map(({ lang }) => lang)).toEqual(['Shell', 'Python', 'JavaScript'])
    for (const { source } of operation['x-codeSamples']) expect(source).toContain(stack.url)
  }
  expect(document).toMatchObject({ servers: [{ url: stack.url }] })
  const elsewhere = await rawExchange(
    stack.url,
    'GET /openapi.json HTTP/1.1\r\nhost: gateway.example\r\nconnection: close\r\n\r\n',
  )
  expect(elsewhere).toContain('curl http://gateway.example/v1/models'.replace('curl ', "curl '"))
  const strange = await rawExchange(
    stack.url,
    'GET /openapi.json HTTP/1.1\r\nhost: a"b\r\nconnection: close\r\n\r\n',
  )
  expect(strange).not.toContain('a"b')
})

test('what the samples in JavaScript ask for is answered', async () => {
  const { key } = await stack.account('1.00')
  process.env.SHUNTYARD_API_KEY = key
  for (const id of ['models', 'key', 'usage', 'surfaces', 'pricing', 'surfaces.public']) {
    const surface = SURFACES.find((known) => known.id === id)!
    const { source } = codeSamples(surface, stack.url).find(({ lang }) => lang === 'JavaScript')!
    const run = new AsyncFunction('console', source) as (console: unknown) => Promise<void>
    const lines: string[] = []
    await run({ log: (line: string) => lines.push(line) })
    expect(JSON.parse(lines[0]!), id).toBeTypeOf('object')
  }
})

test('every surface and its status are public, and to whom one was opened is not', async () => {
  const response = await fetch(`${stack.url}/surfaces.json`)
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  const { data } = (await response.json()) as PublishedSurfaceList
  expect(data.map(({ path }) => path)).toEqual(SURFACES.map(({ path }) => path))
  for (const surface of data) expect(Object.keys(surface)).toEqual(Object.keys(PublishedSurface.properties))
})

test('the document carries schemas and no wording of errors', () => {
  const limit = document.paths['/v1/usage/calls']!.get!.parameters!.find(({ name }) => name === 'limit')
  expect(limit).toMatchObject({ required: false, schema: { type: 'integer', minimum: 1, maximum: 1_000 } })
  expect(document.paths['/v1/chat/completions']!.post).toHaveProperty('requestBody')
  expect(JSON.stringify(document)).not.toContain('errorMessage')
})

const ajv = new Ajv2020({ strict: false, validateFormats: false })
/** By schema of the document: a stream asks for the same one with each event. */
const validators = new Map<object, ValidateFunction>()

/** What is wrong with a value by a schema of the document. */
function faultsOf(schema: object, value: unknown): string {
  const { components } = document as unknown as { components: object }
  const validate = validators.get(schema) ?? ajv.compile({ ...schema, components })
  validators.set(schema, validate)
  return validate(value) ? '' : ajv.errorsText(validate.errors)
}

const operationOf = (id: string): DescribedOperation => {
  const { path, method } = SURFACES.find((surface) => surface.id === id)!
  return document.paths[path]![method.toLowerCase()] as unknown as DescribedOperation
}
const served = SURFACES.filter(({ access }) => access !== 'closed')

test('every example of a request and of a response is valid by its schema', () => {
  let examples = 0
  for (const { id } of served) {
    const { requestBody, responses } = operationOf(id)
    for (const { content = {} } of [requestBody ?? {}, ...Object.values(responses)]) {
      for (const { schema, example } of Object.values(content)) {
        if (example === undefined) continue
        examples++
        expect(faultsOf(schema, example), id).toBe('')
      }
    }
  }
  expect(examples).toBeGreaterThan(20)
})

/** It takes no body. */
const CANCEL = 'responses.cancel'

test('every surface says what it takes and how it fails', () => {
  for (const { id, handler, method, status, access } of served) {
    const { requestBody, responses } = operationOf(id)
    const told = Object.keys(responses)
    const takesBody = (method === 'POST' && handler !== CANCEL) || method === 'PATCH'
    expect(requestBody !== undefined, id).toBe(takesBody)
    expect(told, id).toEqual(expect.arrayContaining(['400', '500', '503', 'default']))
    if (status !== 'Public') expect(told, id).toEqual(expect.arrayContaining(['401', '403', '429']))
    if (takesBody) expect(told, id).toEqual(expect.arrayContaining(['413', '415']))
    if (access === 'granted') expect(responses[404]!.description, id).toContain('surface_unavailable')
    for (const code of told.filter((one) => one >= '400'))
      expect(Object.keys(responses[Number(code)]?.content ?? {}), `${id} ${code}`).toEqual(
        code === 'default' ? [] : ['application/json'],
      )
  }
  expect(Object.keys(operationOf('embeddings').responses)).toEqual(
    expect.arrayContaining(['402', '404', '408', '409', '422', '502', '504']),
  )
})

test('a call is not described as payable where payments are not configured', () => {
  expect(JSON.stringify(operationOf('chat-completions'))).not.toMatch(/PAYMENT-|payment_required/)
})

describe('what is answered is as the document says', () => {
  const QUESTION = [{ role: 'user', content: 'Tell me about rail yards.' }]
  const FIND = { name: 'find', description: 'Finds.' }
  const SCHEMA = { type: 'object', properties: { town: { type: 'string' } } }
  const USE = [{ role: 'user', content: 'Use find to "Basel".' }]

  const owner = testAccount(stack, '20.00')
  beforeAll(async () => {
    for (const { id } of SURFACES.filter(({ access }) => access === 'granted'))
      await stack.command('admin', 'surface', 'open', id, '--account', owner.accountId)
  })

  const ask = (id: string, body: unknown, headers: Record<string, string> = {}) => {
    const { path } = SURFACES.find((surface) => surface.id === id)!
    return fetch(stack.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  }

  async function expectDescribed(id: string, response: Response): Promise<string> {
    const text = await response.text()
    const type = response.headers.get('content-type')!.split(';')[0]!
    const described = operationOf(id).responses[response.status]?.content?.[type]
    expect(described, `${id} ${response.status} ${type}`).toBeDefined()
    if (type === 'application/json') expect(faultsOf(described!.schema, JSON.parse(text)), text).toBe('')
    else {
      const { contentSchema } = described!.schema.properties!.data!
      for (const [, data] of text.matchAll(/^data: (.*)$/gm))
        expect(faultsOf(contentSchema!, data === '[DONE]' ? data : JSON.parse(data!)), data).toBe('')
    }
    return text
  }

  const chatTool = { type: 'function', function: { ...FIND, parameters: SCHEMA } }
  const requests: Array<[id: string, name: string, body: Record<string, unknown>]> = [
    ['chat-completions', 'text', { model: 'test/plain', messages: QUESTION }],
    ['chat-completions', 'a tool call', { model: 'test/plain', messages: USE, tools: [chatTool] }],
    ['chat-completions', 'a refusal', { model: 'test/refuses', messages: QUESTION }],
    ['chat-completions.extended', 'reasoning', { model: 'test/reasons', messages: QUESTION }],
    [
      'chat-completions.extended',
      'log probabilities and usage',
      {
        model: 'test/plain',
        messages: QUESTION,
        logprobs: true,
        top_logprobs: 2,
        provider: { require_parameters: false },
      },
    ],
    ['messages', 'thinking', { model: 'test/native', max_tokens: 50, messages: QUESTION }],
    [
      'messages',
      'a tool use',
      { model: 'test/native', max_tokens: 50, messages: USE, tools: [{ ...FIND, input_schema: SCHEMA }] },
    ],
    ['responses', 'reasoning', { model: 'test/reasons', input: 'Tell me about rail yards.' }],
    ['responses', 'a refusal', { model: 'test/refuses', input: 'Tell me about rail yards.' }],
    [
      'responses',
      'a function call',
      {
        model: 'test/plain',
        input: USE[0]!.content,
        tools: [{ type: 'function', ...FIND, parameters: SCHEMA }],
      },
    ],
  ]
  test.each(requests)('by %s: %s, whole and streamed', async (id, _, body) => {
    expect(faultsOf(operationOf(id).requestBody!.content['application/json']!.schema, body)).toBe('')
    await expectDescribed(id, await ask(id, body))
    const options = id === 'chat-completions.extended' ? { stream_options: { include_usage: true } } : {}
    const streamed = await ask(id, { ...body, ...options, stream: true })
    expect(streamed.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect((await expectDescribed(id, streamed)).match(/^data: /gm)!.length).toBeGreaterThan(1)
  })

  test.each([
    ['chat-completions', 'test/cut', { messages: QUESTION }],
    ['chat-completions.extended', 'test/cut', { messages: QUESTION }],
    ['messages', 'test/native-cut', { messages: QUESTION, max_tokens: 50 }],
    ['responses', 'test/cut', { input: 'Tell me about rail yards.' }],
  ])('by %s: the end of a broken stream', async (id, model, body) => {
    const text = await expectDescribed(id, await ask(id, { ...body, model, stream: true }))
    expect(text).toContain('all_providers_failed')
  })

  test.each([
    ['embeddings', { model: 'test/embed', input: ['a', 'b'] }],
    ['embeddings', { model: 'test/embed', input: 'a', encoding_format: 'base64' }],
    ['rerank', { model: 'test/rerank', query: 'a', documents: ['a', 'b'], return_documents: true }],
    ['moderations', { input: ['hello', 'violence'] }],
    ['messages.count-tokens', { model: 'test/native', messages: QUESTION }],
  ])('by %s', async (id, body) => {
    expect((await ask(id, body)).status).toBe(200)
    await expectDescribed(id, await ask(id, body))
  })

  test.each(
    SURFACES.filter(
      ({ method, access, handler }) => method === 'POST' && access !== 'closed' && handler !== CANCEL,
    ).map(({ id }) => id),
  )('by %s: its errors', async (id) => {
    const wrong = await Promise.all([
      ask(id, {}),
      ask(id, '{"'),
      ask(id, '[]'),
      ask(id, 'x', { 'content-type': 'text/plain' }),
      ask(id, {}, { authorization: 'Bearer none' }),
      ask(id, {
        ...(operationOf(id).requestBody!.content['application/json']?.example as object),
        model: 'none',
      }),
    ])
    for (const response of wrong) {
      expect(response.status).toBeGreaterThanOrEqual(400)
      expect(response.status).toBeLessThan(500)
      await expectDescribed(id, response)
    }
  })
})
