import Fastify, { type FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nullable } from '../../src/core/api/request-fields.ts'
import { errorObject } from '../../src/core/kernel/errors.ts'
import { validateRequests } from '../../src/http/plugins/read-requests.ts'

const Body = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 3, format: 'line' }),
    kind: Type.Optional(nullable(Type.Enum(['red', 'blue']))),
    count: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 9 }))),
    isOpen: Type.Optional(Type.Boolean()),
    tag: Type.Optional(Type.String({ errorMessage: 'Send a tag.' })),
    prices: Type.Optional(
      nullable(
        Type.Object(
          { low: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })) },
          { additionalProperties: false, errorMessage: { additionalProperties: 'Unknown price.' } },
        ),
      ),
    ),
    rows: Type.Optional(Type.Array(Type.Object({ id: Type.String() }))),
    words: Type.Optional(
      Type.Array(Type.String(), { maxItems: 2, errorMessage: '`{param}` takes two words.' }),
    ),
  },
  { additionalProperties: false },
)
const Query = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: 50, default: 20 }),
    before: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
)

let app: FastifyInstance

beforeAll(async () => {
  app = Fastify()
  app.setErrorHandler((error, request, reply) =>
    reply.code(400).send({ error: errorObject(error as never, request.id) }),
  )
  await app.register(validateRequests)
  app.post('/body', { schema: { body: Body } }, async ({ body }) => ({ body }))
  app.get('/query', { schema: { querystring: Query } }, async ({ query }) => query)
  const response = { 200: Type.Object({ amount: Type.String() }) }
  app.get(
    '/response',
    { schema: { response } },
    async () => ({ amount: 7, more: [null], none: undefined }) as never,
  )
})
afterAll(() => app.close())

const send = async (body: unknown) =>
  (await app.inject({ method: 'POST', url: '/body', payload: body as never })).json()

describe('a body', () => {
  test.each<[string, unknown, string | null, string]>([
    ['that is an array', [], null, 'Send a JSON object as the body.'],
    [
      'with an unknown field',
      { nope: 1 },
      'nope',
      '`nope` is no field here. Known: name, kind, count, isOpen, tag, prices, rows, words.',
    ],
    [
      'with an unknown field behind a wrong one',
      { name: 7, nope: 1 },
      'nope',
      '`nope` is no field here. Known: name, kind, count, isOpen, tag, prices, rows, words.',
    ],
    ['without a required field', {}, 'name', '`name` takes a text of 1 to 3 characters.'],
    [
      'without a required field before a wrong one',
      { kind: 'green' },
      'name',
      '`name` takes a text of 1 to 3 characters.',
    ],
    ['with a number for a text', { name: 7 }, 'name', '`name` takes a text of 1 to 3 characters.'],
    [
      'with a text that is too long in UTF-16',
      { name: '😀😀' },
      'name',
      '`name` takes a text of 1 to 3 characters.',
    ],
    ['with two wrong fields', { isOpen: 1, kind: 7, name: 'x' }, 'kind', '`kind` must be one of red, blue.'],
    [
      'with a number out of range',
      { name: 'x', count: 10 },
      'count',
      '`count` must be a whole number from 1 to 9.',
    ],
    [
      'with a number as text',
      { name: 'x', count: '7' },
      'count',
      '`count` must be a whole number from 1 to 9.',
    ],
    ['with a text for a boolean', { name: 'x', isOpen: 'true' }, 'isOpen', '`isOpen` must be true or false.'],
    ['with a field of its own wording', { name: 'x', tag: 1 }, 'tag', 'Send a tag.'],
    [
      'with an unknown nested field',
      { name: 'x', prices: { low: 9, high: 1 } },
      'prices.high',
      'Unknown price.',
    ],
    [
      'with a wrong nested field',
      { name: 'x', prices: { low: 9 } },
      'prices.low',
      '`prices.low` must be a number from 0 to 2.',
    ],
    ['with a wrong object', { name: 'x', prices: 7 }, 'prices', '`prices` must be an object.'],
    [
      'with a wrong entry',
      { name: 'x', rows: [{ id: 'a' }, { id: 1 }] },
      'rows[1].id',
      '`rows[1].id` must be a string.',
    ],
    ['with a wrong entry of words', { name: 'x', words: ['a', 1] }, 'words', '`words` takes two words.'],
    [
      'with a wrong field before a missing one',
      { rows: [{}], kind: 7, name: 1 },
      'name',
      '`name` takes a text of 1 to 3 characters.',
    ],
    [
      'with an entry that lacks a field',
      { name: 'x', rows: [{}] },
      'rows[0].id',
      '`rows[0].id` must be a string.',
    ],
    ['with a wrong array', { name: 'x', rows: {} }, 'rows', '`rows` must be an array.'],
  ])('%s is refused', async (_case, body, param, message) => {
    expect((await send(body)).error).toMatchObject({ code: 'invalid_request', param, message })
  })

  test('without content is refused', async () => {
    const response = await app.inject({ method: 'POST', url: '/body' })
    expect(response.json().error.message).toBe('Send a JSON object as the body.')
  })

  test('that fits reaches the handler as it was sent', async () => {
    const body = { name: 'x', kind: null, count: 9, prices: null, rows: [{ id: 'a', more: 1 }] }
    expect(await send(body)).toEqual({ body })
  })

  test('with a line break in a line is refused', async () => {
    expect((await send({ name: 'a\n' })).error).toMatchObject({ param: 'name' })
  })
})

describe('a query string', () => {
  const get = async (query: string) => (await app.inject(`/query?${query}`)).json()

  test.each<[string, unknown]>([
    ['', { limit: 20 }],
    ['limit=&before=', { limit: 20 }],
    ['limit=007&before=12', { limit: 7, before: '12' }],
  ])('"%s" is read with defaults', async (query, expected) => {
    expect(await get(query)).toEqual(expected)
  })

  test.each<[string, string, string]>([
    ['limit=51', 'limit', '`limit` must be a whole number from 1 to 50.'],
    ['limit=1e1', 'limit', '`limit` must be a whole number from 1 to 50.'],
    ['limit=+5', 'limit', '`limit` must be a whole number from 1 to 50.'],
    ['before=1&before=2', 'before', 'Send `before` once.'],
    ['nope=', 'nope', '`nope` is no parameter here. Known: limit, before.'],
  ])('"%s" is refused', async (query, param, message) => {
    expect((await get(query)).error).toMatchObject({ code: 'invalid_request', param, message })
  })
})

test('a response schema changes nothing of what is sent', async () => {
  expect((await app.inject('/response')).body).toBe('{"amount":7,"more":[null]}')
})
