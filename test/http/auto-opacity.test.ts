import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { CallDetail } from '../../src/core/api/calls.ts'
import type { CreatedKey } from '../../src/core/api/keys.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { SURFACES } from '../../src/core/api/surfaces/surface-registry.ts'
import { formatUsd, parseRate, picoUsd } from '../../src/core/kernel/money.ts'
import { adminClient } from '../helpers/admin-client.ts'
import { ask, type Caller, stream } from '../helpers/chat-client.ts'
import { type ConsoleClient, signedUp } from '../helpers/console-client.ts'
import { getAs } from '../helpers/requests.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'

/** Rates that occur nowhere by chance. */
const RATE = { prompt: '0.731903', completion: '1.297307' }
const LIST = { prompt: '0.913571', completion: '1.613579' }
const COST = '0.317317'
const OUR_KEY = 'AUTO_OPACITY_TEST_KEY'

let stack: TestStack
let client: ConsoleClient
let caller: Caller
let accountId: string

beforeAll(async () => {
  vi.stubEnv(OUR_KEY, 'sk-ours')
  stack = await startStack({
    models: {
      'quillon/hidden-one': {
        name: 'Hidden One',
        vendor: 'quillon',
        list_price: LIST,
        rate: RATE,
        offers: [{ at: 'zanzibar', model: 'words-12.tag-xyzzy.auth', cost: COST }],
      },
      'named/one': { auto: false, offers: [{ at: 'beta', model: 'words-12' }] },
      'named/broken': { auto: false, offers: [{ at: 'beta', model: 'status-500' }] },
    },
    providerKeyNames: { zanzibar: OUR_KEY },
    environment: { RETRY_BUDGET_FLOOR: '10000' },
  })
  client = await signedUp(stack.url)
  const created = await client.json<CreatedKey>('/console/api/keys', {
    body: { name: 'opaque', scopes: ['provider_keys', 'top_ups'] },
  })
  caller = { url: stack.url, key: created.secret }
  accountId = (await client.json<SessionView>('/console/api/session')).account.id
})
afterAll(async () => {
  await stack?.close()
  vi.unstubAllEnvs()
})

const read = async (path: string, key = caller.key) => {
  const response = await getAs(key, stack.url + path)
  return `${path} ${response.status} ${await response.text()}`
}

/** Lists the providers that clients may bring keys for, whether calls went there or not. */
const PROVIDER_KEYS = '/v1/provider-keys'

/** Everything that the account's key and its holder's session can read, with a call's id in its place. */
async function everythingReadable(callId: string): Promise<string[]> {
  const ofKey = SURFACES.filter(
    ({ method, path, access }) =>
      method === 'GET' && access === 'open' && path.startsWith('/v1/') && path !== PROVIDER_KEYS,
  ).map(({ path }) => path.replace('{id}', callId))
  const reports = ['day', 'model', 'key'].flatMap((group) =>
    ['json', 'csv'].map((format) => `/v1/usage?group_by=${group}&format=${format}`),
  )
  const ofSession = [
    'session',
    'usage?group_by=day',
    'usage?group_by=model',
    'usage?group_by=key',
    'calls',
    'calls.csv',
    `calls/${callId}`,
    'keys',
    'billing',
    'ledger',
    'top-ups',
    'webhooks',
  ]
  // One after another: a key may run two reports at a time.
  const texts: string[] = []
  for (const path of [...ofKey, ...reports, '/v1/usage/calls?format=csv', '/billing/topups'])
    texts.push(await read(path))
  for (const path of ofSession) {
    const response = await client.ask(`/console/api/${path}`)
    const text = await response.text()
    texts.push(`${path} ${response.status} ${path === 'keys' ? withoutProviders(text) : text}`)
  }
  return texts
}

/** The list of keys offers every provider there is, whatever was called. */
const withoutProviders = (text: string): string => JSON.stringify({ ...JSON.parse(text), providers: [] })

/** What would name the target of a call, or let it be worked out by a division. */
async function tellTales(callId: string): Promise<string[]> {
  const record = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id: callId } })
  const part = (tokens: number, rate: string) => formatUsd(picoUsd(BigInt(tokens) * parseRate(rate)))
  return [
    'quillon',
    'hidden-one',
    'Hidden One',
    'zanzibar',
    'xyzzy',
    ...Object.values(RATE),
    ...Object.values(LIST),
    COST,
    record.rateVersion ?? 'no version',
    part(record.promptTokens, RATE.prompt),
    part(record.completionTokens, RATE.completion),
  ]
}

async function expectOpaque(callId: string) {
  const [texts, words] = await Promise.all([everythingReadable(callId), tellTales(callId)])
  for (const text of texts) {
    expect(text).toMatch(/^\S+ 200 /)
    for (const word of words) expect(text).not.toContain(word)
  }
  expect(texts.filter((text) => text.includes(callId)).length).toBeGreaterThanOrEqual(6)
}

describe('after a call to auto', () => {
  test.each([
    ['whole', { model: 'auto' }],
    ['with a suffix', { model: 'auto:floor' }],
    ['first of several models', { models: ['auto', 'named/one'] }],
    ['second of several models', { models: ['named/broken', 'auto'] }],
  ])('nothing that a key can read names its target: %s', async (_name, asked) => {
    const providerKeys = await read(PROVIDER_KEYS)
    const { id } = await ask(caller, asked)
    await stack.settled(accountId)
    await expectOpaque(id ?? '')
    const { attempts } = await client.json<CallDetail>(`/console/api/calls/${id}`)
    expect(attempts.map(({ http_status }) => http_status)).toEqual(attempts.map(() => null))
    expect(await read(PROVIDER_KEYS)).toBe(providerKeys)
    const view = JSON.parse((await read(`/v1/generations/${id}`)).replace(/^\S+ \d+ /, ''))
    expect(view).toMatchObject({ status: 'completed', rates: null, provider_key_id: null })
    expect(view.model).toMatch(/^auto/)
    expect(view.usage.completion_tokens).toBeGreaterThan(0)
    expect(Number(view.cost_usd)).toBeGreaterThan(0)
  })

  test('streams and live views of an account do not disclose what auto chose', async () => {
    const leave = new AbortController()
    const live = await client.ask('/console/api/live', { signal: leave.signal })
    const open = await stream(caller, { model: 'auto' })
    const { id } = await open.end
    let told = ''
    const decoder = new TextDecoder()
    for await (const chunk of live.body!) {
      told += decoder.decode(chunk as Uint8Array, { stream: true })
      if (told.includes(id ?? '')) break
    }
    leave.abort()
    for (const word of await tellTales(id ?? '')) expect(told).not.toContain(word)
    await expectOpaque(id ?? '')
  })

  test("nor which of the account's own provider keys served it", async () => {
    const own = await client.json<{ id: string }>('/console/api/provider-keys', {
      body: { provider: 'zanzibar', name: 'own', key: 'sk-client-of-its-own-0123456789' },
    })
    const { id } = await ask(caller, { model: 'auto' })
    await stack.settled(accountId)
    const record = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id: id ?? '' } })
    expect(record).toMatchObject({ isByok: true, providerKeyId: own.id })
    for (const path of [`/v1/generations/${id}`, '/v1/usage/calls', '/v1/usage/calls?format=csv'])
      expect(await read(path)).not.toContain(own.id)
    const named = await ask(caller, { model: 'quillon/hidden-one' })
    await stack.settled(accountId)
    expect(await read(`/v1/generations/${named.id}`)).toContain(own.id)
  })

  test('a model that the client named keeps its rates, and operators see everything', async () => {
    const named = await ask(caller, { models: ['named/one', 'auto'] })
    const auto = await ask(caller, { model: 'auto' })
    await stack.settled(accountId)
    expect(await client.json<CallDetail>(`/console/api/calls/${named.id}`)).toMatchObject({
      model: 'named/one',
      rates: { prompt: '1.00', completion: '2.00' },
    })
    const admin = await stack.adminKey()
    expect(await read(`/v1/generations/${auto.id}`, admin)).toContain('"rates":{')
    expect(await adminClient(stack, admin).get(`/calls/${auto.id}/timeline`)).toMatchObject({
      served_model: 'quillon/hidden-one',
    })
  })
})
