import { beforeAll, describe, expect, test } from 'vitest'
import type { CreatedKey, KeyList, KeyView } from '../../src/core/api/keys.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { SURFACES } from '../../src/core/api/surfaces/surface-registry.ts'
import { newId } from '../../src/core/kernel/ids.ts'
import { ask } from '../helpers/chat-client.ts'
import { type ConsoleClient, signedUp } from '../helpers/console-client.ts'
import { getAs, postAs } from '../helpers/requests.ts'
import { testStack } from '../helpers/resources.ts'
import { expectError, MESSAGES } from './wire.ts'

let client: ConsoleClient
let accountId: string

const EMBEDDINGS = {
  kind: 'embeddings',
  dimensions: 8,
  list_price: { prompt: '0.1', completion: '0' },
  rate: undefined,
}

const stack = testStack({
  models: {
    'acme/one': { vendor: 'acme', offers: [{ at: 'alpha', model: 'words-5' }] },
    'acme/two': {
      vendor: 'acme',
      offers: [
        { at: 'alpha', model: 'status-500', cost: '0.10' },
        { at: 'beta', model: 'words-5.tag-two', cost: '0.60' },
      ],
    },
    'gpt-birch': { vendor: 'openai', auto: false, offers: [{ at: 'beta', model: 'words-5.tag-birch' }] },
    // Without a provider of its wire, the messages surface is closed.
    'acme/native': {
      vendor: 'acme',
      auto: false,
      offers: [{ at: 'anthropicmessages', model: 'words-5', wire: 'anthropic-messages' }],
    },
    'birch/vectors': {
      ...EMBEDDINGS,
      vendor: 'birch',
      offers: [{ at: 'alpha', model: 'dimensions-8', cost: '0' }],
    },
  },
})
beforeAll(async () => {
  client = await signedUp(stack.url)
  accountId = (await client.json<SessionView>('/console/api/session')).account.id
  await stack.postgres.surfaceGrant.createMany({
    data: SURFACES.filter(({ access }) => access === 'granted').map(({ id }) => ({
      id: newId('grant'),
      surface: id,
      accountId,
    })),
  })
})

const newKey = (body: Record<string, unknown> = {}) =>
  client.json<CreatedKey>('/console/api/keys', { body: { name: 'app', ...body } })
const edit = ({ id }: KeyView, body: unknown) =>
  client.ask(`/console/api/keys/${id}`, { method: 'PATCH', body })
const call = (key: string, body: { model?: string; models?: string[] }) => ask({ url: stack.url, key }, body)
const post = (key: string, path: string, body: Record<string, unknown>) => postAs(key, stack.url + path, body)
const get = async (key: string, path: string) =>
  (await getAs(key, stack.url + path)).json() as Promise<{
    data: unknown[]
    allowed_models: unknown
    allowed_providers: unknown
  }>

describe('a key that is limited to some models', () => {
  test('calls those alone; the refusal names the model, and costs nothing', async () => {
    const { secret } = await newKey({ allowed_models: ['acme/*'] })
    expect((await call(secret, { model: 'acme/one' })).status).toBe(200)
    const response = await post(secret, '/v1/chat/completions', { model: 'gpt-birch', messages: MESSAGES })
    const { message } = await expectError(response, 403, 'not_permitted')
    expect(message).toContain('"gpt-birch"')
    expect((await call(secret, { models: ['gpt-birch', 'acme/one'] })).status).toBe(200)
    expect((await call(secret, { model: 'auto' })).status).toBe(200)
    expect(stack.providers.log.requests.some(({ model }) => model === 'words-5.tag-birch')).toBe(false)
    await stack.settled(accountId)
  })

  test.each([
    ['/v1/chat/completions', { messages: MESSAGES }],
    ['/v2/chat/completions', { messages: MESSAGES }],
    ['/v1/messages', { messages: MESSAGES, max_tokens: 5 }],
    ['/v1/responses', { input: 'Hi' }],
    ['/v1/embeddings', { input: 'Hi', model: 'birch/vectors' }],
  ])('is refused by %s', async (path, body) => {
    const { secret } = await newKey({ allowed_models: ['acme/one'] })
    const response = await post(secret, path, { model: 'gpt-birch', ...body })
    const { error } = (await response.json()) as { error: { code: string } }
    expect({ status: response.status, code: error.code }).toEqual({ status: 403, code: 'not_permitted' })
  })

  test('GET /v1/key has the allow-lists of the key, and model lists have only allowed models', async () => {
    const { secret, key } = await newKey({
      allowed_models: ['openai/gpt-birch'],
      allowed_providers: ['beta'],
    })
    expect(key).toMatchObject({ allowed_models: ['gpt-birch'], allowed_providers: ['beta'] })
    expect(await get(secret, '/v1/key')).toMatchObject({
      allowed_models: ['gpt-birch'],
      allowed_providers: ['beta'],
    })
    expect((await get(secret, '/v1/models')).data).toEqual([])
    expect((await get(secret, '/v2/models')).data).toMatchObject([{ id: 'gpt-birch' }])
    await edit(key, { allowed_models: ['acme/one'] })
    expect((await get(secret, '/v1/models')).data).toMatchObject([{ id: 'auto' }])
  })
})

test('a provider that the key may not use gets no attempt', async () => {
  const { secret } = await newKey({ allowed_providers: ['beta'] })
  const before = stack.providers.log.requests.filter(({ model }) => model === 'status-500').length
  for (let tried = 0; tried < 5; tried++) expect((await call(secret, { model: 'acme/two' })).status).toBe(200)
  expect(stack.providers.log.requests.filter(({ model }) => model === 'status-500')).toHaveLength(before)
  const response = await post(secret, '/v1/chat/completions', { model: 'acme/one', messages: MESSAGES })
  await expectError(response, 403, 'not_permitted')
})

describe('the lists of a key', () => {
  test('can be changed and emptied, and name what the catalog has', async () => {
    const { secret, key } = await newKey({ allowed_models: ['acme/one', 'acme/one', 'openai/*'] })
    expect(key.allowed_models).toEqual(['acme/one', 'openai/*'])
    expect((await call(secret, { model: 'acme/two' })).errorCode).toBe('not_permitted')
    const emptied = await edit(key, { allowed_models: [] })
    expect(await emptied.json()).toMatchObject({ allowed_models: [], allowed_providers: [] })
    expect((await call(secret, { model: 'acme/two' })).status).toBe(200)
    const { providers } = await client.json<KeyList>('/console/api/keys')
    expect(providers.map(({ id }) => id)).toEqual(expect.arrayContaining(['alpha', 'beta']))
  })

  test.each([
    ['a model', { allowed_models: ['acme/none'] }],
    ['a developer', { allowed_models: ['nobody/*'] }],
    ['a provider', { allowed_providers: ['nobody'] }],
  ])('refuse %s that there is not', async (_, body) => {
    const { key } = await newKey()
    const { param } = await expectError(await edit(key, body), 400, 'invalid_request')
    expect(param).toBe(Object.keys(body)[0])
  })

  test('are bounded in length', async () => {
    const { key } = await newKey()
    const many = Array.from({ length: 101 }, () => 'acme/one')
    await expectError(await edit(key, { allowed_models: many }), 400, 'invalid_request')
  })
})
