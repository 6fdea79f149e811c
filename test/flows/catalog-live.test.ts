import { once } from 'node:events'
import { utimes, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { PricingFeed } from '../../src/core/catalog/pricing-feed-view.ts'
import { CATALOG_OVERLAY } from '../../src/platform/redis/redis-keys.ts'
import { EVENTUALLY, onBusyMachine } from '../helpers/eventually.ts'
import { postAs } from '../helpers/requests.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'

/** Everything that runs sees a change within this. */
const VISIBLE_MS = onBusyMachine(2_000)

/** Not more often: what is asked for may be the feed of the whole catalog. */
const eventually = <T>(assertion: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(assertion, { ...EVENTUALLY, interval: 100 })

const NAMES = ['one', 'two', 'three', 'four']
let listed = [...NAMES]
/** How often the list was asked for. */
let lists = 0
/** The price file. */
let prices = '{}'
let stack: TestStack
let lister: Server
let key: string

beforeAll(async () => {
  // Its list of models is the test's, its answers are the simulated providers'.
  lister = createServer(async (request, response) => {
    if (request.url === '/prices.json') return response.end(prices)
    if (request.url === '/v1/models') {
      lists += 1
      return response.end(JSON.stringify({ data: listed.map((name) => ({ id: `words-3.tag-${name}` })) }))
    }
    const answer = await fetch(`${stack.providers.url}/alpha${request.url}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: await text(request),
    })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
    response.end(Buffer.from(await answer.arrayBuffer()))
  }).listen(0, '127.0.0.1')
  await once(lister, 'listening')
  const { port } = lister.address() as AddressInfo
  stack = await startStack({
    // Until the file below takes its place: a document that leaves no model is refused.
    models: { 'test/first': [{ at: 'alpha', model: 'words-3' }] },
    apis: 2,
    environment: { CATALOG_SYNC_MS: '1000', PRICE_FILES: `http://127.0.0.1:${port}/prices.json` },
  })
  await writeFile(stack.catalogFile, JSON.stringify(document()))
  key = (await stack.account('5.00')).key
  await eventually(async () => expect(await statusOf('test/four')).toBe(200))
})

afterAll(async () => {
  await stack.close()
  lister.close()
})

function document() {
  const { port } = lister.address() as AddressInfo
  const models = NAMES.map((name) => ({
    id: `test/${name}`,
    vendor: 'test',
    context_length: 8_000,
    list_price: { prompt: '1.00', completion: '2.00' },
    offers: [{ provider: 'lister', upstream_model: `words-3.tag-${name}` }],
  }))
  return {
    replace: true,
    providers: [{ id: 'lister', base_url: `http://127.0.0.1:${port}/v1`, follows_list: true }],
    models,
  }
}

async function statusOf(model: string, url = stack.url): Promise<number> {
  const response = await postAs(key, `${url}/v1/chat/completions`, {
    model,
    messages: [{ role: 'user', content: 'hi' }],
  })
  await response.body?.cancel()
  return response.status
}

interface FeedEntry {
  id: string
  status: string
  prompt: string
}

async function feedEntry(model: string, url: string): Promise<FeedEntry> {
  const response = await fetch(`${url}/pricing.json`)
  const { data } = (await response.json()) as { data: FeedEntry[] }
  return data.find(({ id }) => id === model)!
}

/** Resolves when all API instances show something of a model; returns after how many milliseconds. */
async function untilEverywhere(model: string, expected: Partial<FeedEntry>): Promise<number> {
  const started = performance.now()
  await eventually(async () => {
    for (const url of stack.urls) expect(await feedEntry(model, url)).toMatchObject(expected)
  })
  return performance.now() - started
}

async function apply(content: object): Promise<string> {
  const file = `${stack.catalogFile}.edits.json`
  await writeFile(file, JSON.stringify(content))
  const { code, json } = await stack.command('catalog', 'apply', file)
  expect(code, JSON.stringify(json)).toBe(0)
  return String(json.version)
}

test("a model that a provider's list loses is not used any more, and used again when it is back, while calls run", async () => {
  listed = ['one', 'two', 'three']
  await untilEverywhere('test/four', { status: 'unavailable' })
  expect(await statusOf('test/four')).toBe(503)
  expect(await statusOf('test/three')).toBe(200)
  listed = [...NAMES]
  await untilEverywhere('test/four', { status: 'available' })
  expect(await statusOf('test/four')).toBe(200)
})

test("an operator's edits come into force everywhere without a restart, and can be taken back", async () => {
  const first = await apply({
    changes: {
      models: [
        {
          id: 'test/one',
          list_price: { prompt: '1.60', completion: '3.20' },
          rate: { prompt: '1.50', completion: '3' },
        },
      ],
    },
  })
  expect(await untilEverywhere('test/one', { prompt: '1.50' })).toBeLessThan(VISIBLE_MS)
  await apply({ changes: { models: [{ id: 'test/one', disabled: true }] } })
  expect(await untilEverywhere('test/one', { status: 'unavailable', prompt: '0.95' })).toBeLessThan(
    VISIBLE_MS,
  )
  for (const url of stack.urls) expect(await statusOf('test/one', url)).toBe(503)
  expect((await stack.command('catalog', 'revert', first)).code).toBe(0)
  expect(await untilEverywhere('test/one', { status: 'available', prompt: '1.50' })).toBeLessThan(VISIBLE_MS)
  expect(await statusOf('test/one')).toBe(200)
})

test('a rate that changes leaves past charges alone, and every rate is remembered', async () => {
  const account = await stack.account('5.00')
  const ask = async () => {
    const response = await postAs(account.key, `${stack.url}/v1/chat/completions`, {
      model: 'test/two',
      messages: [{ role: 'user', content: 'hi' }],
    })
    return ((await response.json()) as { id: string }).id
  }
  const chargeOf = async (id: string) => {
    const call = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id } })
    const at = (prompt: bigint, completion: bigint) =>
      BigInt(call.promptTokens) * prompt + BigInt(call.completionTokens) * completion
    return { chargePico: call.chargePico, rateVersion: call.rateVersion, at }
  }
  const before = await ask()
  await stack.settled(account.accountId)
  const charged = await chargeOf(before)
  expect(charged.chargePico).toBe(charged.at(950_000n, 1_900_000n))
  await apply({
    changes: {
      models: [
        {
          id: 'test/two',
          list_price: { prompt: '7.50', completion: '15' },
          rate: { prompt: '7', completion: '14' },
        },
      ],
    },
  })
  await untilEverywhere('test/two', { prompt: '7.00' })
  const after = await ask()
  await stack.settled(account.accountId)
  const still = await chargeOf(before)
  expect([still.chargePico, still.rateVersion]).toEqual([charged.chargePico, charged.rateVersion])
  const dearer = await chargeOf(after)
  expect(dearer.chargePico).toBe(dearer.at(7_000_000n, 14_000_000n))
  expect(dearer.rateVersion).not.toBe(charged.rateVersion)
  await eventually(async () => {
    const rates = await stack.postgres.rateVersion.findMany({
      where: { modelId: 'test/two' },
      orderBy: { id: 'asc' },
    })
    expect(rates.map(({ prompt }) => prompt)).toEqual([950_000n, 7_000_000n])
  })
  const { json } = await stack.command('catalog', 'history', 'test/two')
  expect(json.rates).toMatchObject([{ rate: { prompt: '7.00' } }, { rate: { prompt: '0.95' } }])
})

/** The feed of every instance: its tag and its bytes. */
const feeds = () =>
  Promise.all(
    stack.urls.map(async (url) => {
      const response = await fetch(`${url}/pricing.json`)
      return { etag: response.headers.get('etag'), body: await response.text() }
    }),
  )

/** What every instance serves, once that is the same. */
const sameFeed = () =>
  eventually(async () => {
    const [one, other] = await feeds()
    expect(other).toEqual(one)
    return one!
  })

test('instances serve the same bytes under one ETag, and say since when a rate is what it is', async () => {
  const before = await sameFeed()
  const rate = { prompt: '0.91', completion: '1.90' }
  await apply({ changes: { models: [{ id: 'test/four', rate }] } })
  await untilEverywhere('test/four', { prompt: '0.91' })
  const recorded = await stack.postgres.rateVersion.findFirstOrThrow({
    where: { modelId: 'test/four' },
    orderBy: { id: 'desc' },
  })
  const since = new Date(Math.floor(recorded.effectiveAt.getTime() / 1000) * 1000).toISOString()
  const changed = await eventually(async () => {
    const feed = await sameFeed()
    const { generated_at, data } = JSON.parse(feed.body) as PricingFeed
    expect(data.find(({ id }) => id === 'test/four')?.updated_at).toBe(since)
    expect(generated_at).toBe(since)
    return feed
  })
  expect(changed.etag).not.toBe(before.etag)

  // A file that is only touched changes nothing.
  await utimes(stack.catalogFile, new Date(), new Date())
  await apply({ changes: { models: [{ id: 'test/four', rate, auto: false }] } })
  await eventually(async () => expect(await feeds()).toEqual([changed, changed]))
})

test('edits outlive a Redis that lost its data', async () => {
  await apply({
    changes: {
      models: [
        {
          id: 'test/three',
          list_price: { prompt: '4.30', completion: '8.60' },
          rate: { prompt: '4', completion: '8' },
        },
      ],
    },
  })
  await untilEverywhere('test/three', { prompt: '4.00' })
  await stack.redis.flushall()
  await eventually(async () => expect(await stack.redis.hexists(CATALOG_OVERLAY, 'stored')).toBe(1))
  for (const url of stack.urls) expect(await feedEntry('test/three', url)).toMatchObject({ prompt: '4.00' })
  await apply({ changes: {} })
  expect(await untilEverywhere('test/three', { prompt: '0.95' })).toBeLessThan(VISIBLE_MS)
})

test('a price file changes rates within its round; a broken one changes nothing', async () => {
  const list = (prompt: string) =>
    JSON.stringify({ changes: { models: [{ id: 'gpt-4o', list_price: { prompt, completion: '10' } }] } })
  // It goes before the built-in catalog, and the document of the operator before it.
  await writeFile(stack.catalogFile, JSON.stringify({ ...document(), replace: false }))
  await untilEverywhere('gpt-4o', { prompt: '2.375' })
  prices = list('2')
  await untilEverywhere('gpt-4o', { prompt: '1.90' })
  prices = '{"models": [{}]}'
  const before = lists
  await eventually(() => expect(lists).toBeGreaterThan(before + 2))
  expect(await feedEntry('gpt-4o', stack.url)).toMatchObject({ prompt: '1.90' })
  prices = '{}'
  await untilEverywhere('gpt-4o', { prompt: '2.375' })
})
