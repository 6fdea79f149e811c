import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type CatalogStore,
  type CatalogStoreOptions,
  createCatalogStore,
} from '../../src/catalog/catalog-store.ts'
import { messagesModelPage } from '../../src/catalog/messages-model-list.ts'
import { publicModelList, publicModelOf } from '../../src/catalog/model-list.ts'
import { pricingFeed } from '../../src/catalog/pricing-feed.ts'
import { type CatalogSnapshot, isAvailable } from '../../src/core/catalog/catalog.ts'
import { countModels } from '../../src/core/catalog/listed-models.ts'
import { factsList } from '../../src/http/account/model-list-routes.ts'
import { filterModels } from '../../web/lib/models/filter-models.ts'
import { joinCatalog } from '../../web/lib/models/model-catalog.ts'
import { environmentKeys } from '../helpers/environment-keys.ts'
import { onBusyMachine } from '../helpers/eventually.ts'
import { exampleDocument } from './example-document.ts'

const logger = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
let folder: string
let file: string
let store: CatalogStore | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'catalog-'))
  file = join(folder, 'catalog.json')
  vi.clearAllMocks()
})
afterEach(async () => {
  store?.close()
  store = undefined
  await rm(folder, { recursive: true })
})

async function open(options: Partial<CatalogStoreOptions> = {}): Promise<CatalogStore> {
  store = await createCatalogStore({
    catalogFile: null,
    catalogKeyNames: [],
    platformKeys: environmentKeys({}),
    simulatedProvidersUrl: null,
    ollamaUrl: null,
    localModelUrl: null,
    discountPercent: 5,
    openWeightsDiscountPercent: 20,
    logger,
    ...options,
  })
  return store
}

const nextChange = (from: CatalogStore) =>
  new Promise<CatalogSnapshot>((resolve) => {
    const stop = from.onChange((snapshot) => {
      stop()
      resolve(snapshot)
    })
  })

const renamed = (id: string) => {
  const document = exampleDocument()
  document.models[0]!.id = id
  return JSON.stringify(document)
}

const withKey = { platformKeys: environmentKeys({ ACME_API_KEY: 'k' }) }

describe('the shipped catalogs', () => {
  test('the built-in catalog is valid, sells every model at 5 % or more below list, and needs keys', async () => {
    expect([...(await open()).snapshot().models.values()].filter(isAvailable)).toEqual([])
    store!.close()
    const everyKey = new Proxy({}, { get: () => 'key' })
    const { models } = (await open({ platformKeys: environmentKeys(everyKey) })).snapshot()
    expect(models.size).toBeGreaterThan(600)
    for (const model of models.values()) {
      expect(model.rate.prompt * 100n).toBeLessThanOrEqual(model.listPrice.prompt * 95n)
      expect(model.rate.completion * 100n).toBeLessThanOrEqual(model.listPrice.completion * 95n)
      expect(model.id.includes('/')).toBe(model.vendor !== 'openai')
    }
  })

  test('only offers whose provider key is set are shared', async () => {
    const { offers } = (await open({ platformKeys: environmentKeys({ OPENAI_API_KEY: 'k' }) })).snapshot()
    const shared = [...offers.values()].filter((offer) => offer.shared)
    expect(new Set(shared.map(({ provider }) => provider.id))).toEqual(new Set(['openai']))
  })

  test('the simulated models are there with their address, and auto never picks a fault', async () => {
    const snapshot = (await open({ simulatedProvidersUrl: 'http://127.0.0.1:9/' })).snapshot()
    expect(snapshot.models.get('sim/small-1')!.offers[0]!.provider.baseUrl).toBe(
      'http://127.0.0.1:9/alpha/v1',
    )
    expect(snapshot.models.has('sim/fault-hang')).toBe(true)
    expect(snapshot.autoLadder.length).toBeGreaterThan(3)
    expect(snapshot.autoLadder.filter(({ id }) => id.includes('fault'))).toEqual([])
  })
})

describe('where no real key is set', () => {
  const standIns = { simulatedProvidersUrl: 'http://127.0.0.1:9', simulateAll: true }

  test('the simulated providers answer for every model, and auto chooses among the real ones', async () => {
    const snapshot = (await open(standIns)).snapshot()
    const unavailable = [...snapshot.models.values()].filter((model) => !isAvailable(model))
    expect(unavailable.map(({ id }) => id)).toEqual([])
    expect(snapshot.models.size).toBeGreaterThan(600)
    expect(snapshot.autoLadder.length).toBeGreaterThan(600)
    expect(snapshot.autoLadder.filter(({ id }) => id.startsWith('sim/'))).toEqual([])
    const zdr = [...snapshot.models.values()].filter(({ id }) => !id.startsWith('sim/'))
    expect(zdr.every(({ offers }) => offers.some((offer) => offer.shared && offer.provider.zdr))).toBe(true)
  })

  test('every list and count has the same models, and none of the simulated ones', async () => {
    const snapshot = (await open(standIns)).snapshot()
    const feed = pricingFeed(snapshot, new Map())
    const facts = factsList(snapshot, null)
    const { models } = joinCatalog(feed, facts)
    const ids = models.map(({ id }) => id)
    expect(ids.filter((id) => id.startsWith('sim/'))).toEqual([])
    expect(facts.data.map(({ id }) => id)).toEqual(ids)
    const listed = publicModelList(snapshot, () => true).data.map(({ id }) => id)
    expect(listed).toEqual(['auto', ...ids])
    expect(
      messagesModelPage(publicModelList(snapshot, () => true).data, { limit: '1000' }).data,
    ).toHaveLength(filterModels(models, { kind: 'chat' }).length + 1)
    expect(countModels(snapshot).models).toBe(ids.length)
    expect(filterModels(models, {})).toHaveLength(ids.length)
    const readme = await readFile('README.md', 'utf8')
    const stated = [...readme.matchAll(/(\d+) models/g)].map(([, count]) => Number(count))
    expect(new Set(stated)).toEqual(new Set([ids.length]))
    expect(publicModelOf(snapshot, 'sim/small-1', () => true)).toMatchObject({ id: 'sim/small-1' })
  })

  test('lists a name that a document gave models with what it is, for keys that may use one of them', async () => {
    const { models, ...snapshot } = (await open(standIns)).snapshot()
    const [first, second] = [...models.values()].filter(({ id }) => !id.startsWith('sim/'))
    const catalog = { ...snapshot, models, aliases: new Map([['support-bot', [first!, second!]]]) }
    const described = { id: 'support-bot', canonical_slug: second!.id, owned_by: second!.vendor }
    expect(publicModelList(catalog, (one) => one === second).data.at(-1)).toMatchObject(described)
    expect(publicModelOf(catalog, 'support-bot', (one) => one === second)).toMatchObject(described)
    expect(publicModelList(catalog, () => false).data).toEqual([])
    expect(publicModelOf(catalog, 'support-bot', () => false)).toBeUndefined()
  })

  test('none stands in where no simulated provider listens', async () => {
    const snapshot = (await open({ simulateAll: true })).snapshot()
    expect([...snapshot.models.values()].filter(isAvailable)).toEqual([])
  })
})

describe('with every key and the usual costs', () => {
  test('no model is sold at a loss, and nearly every one is sold', async () => {
    const everyKey = new Proxy({}, { get: () => 'key' })
    const { models } = (await open({ platformKeys: environmentKeys(everyKey) })).snapshot()
    for (const model of models.values()) {
      for (const { shared, cost, id } of model.offers) {
        if (!shared) continue
        expect(cost.prompt <= model.rate.prompt && cost.completion <= model.rate.completion, id).toBe(true)
      }
    }
    const sold = [...models.values()].filter(isAvailable).length
    expect(sold / models.size).toBeGreaterThan(0.98)
  })
})

describe('the catalog file', () => {
  test.each([
    ['written in place', (text: string) => writeFile(file, text)],
    [
      'replaced by a rename',
      async (text: string) => {
        await writeFile(`${file}.new`, text)
        await rename(`${file}.new`, file)
      },
    ],
  ])('is read again within two seconds when %s', async (_how, write) => {
    await writeFile(file, renamed('acme/one'))
    const opened = await open({ catalogFile: file, ...withKey })
    expect(opened.snapshot().models.has('acme/one')).toBe(true)
    const started = performance.now()
    const changed = nextChange(opened)
    await write(renamed('acme/two'))
    expect([...(await changed).models.keys()]).toEqual(['acme/two'])
    expect(performance.now() - started).toBeLessThan(onBusyMachine(2_000))
    const again = nextChange(opened)
    await write(renamed('acme/three'))
    expect((await again).models.has('acme/three')).toBe(true)
  })

  test('that breaks keeps the last good catalog, says why, and is used again when mended', async () => {
    await writeFile(file, renamed('acme/one'))
    const opened = await open({ catalogFile: file, ...withKey })
    const complained = new Promise<unknown>((resolve) => logger.error.mockImplementationOnce(resolve))
    await writeFile(file, '{"models": [{}]}')
    const { err } = (await complained) as { err: Error }
    expect(err.message).toContain('models[0].id: required')
    expect(opened.snapshot().models.has('acme/one')).toBe(true)
    const mended = nextChange(opened)
    await writeFile(file, renamed('acme/two'))
    expect((await mended).models.has('acme/two')).toBe(true)
  })

  test.each([
    ['is missing', null, 'cannot be read'],
    ['is no JSON', '{', 'is not JSON'],
    ['is no catalog', '{"modles": []}', 'modles: unknown field'],
  ])('that %s at the start is a clear error', async (_what, content, message) => {
    if (content !== null) await writeFile(file, content)
    await expect(open({ catalogFile: file })).rejects.toThrow(message)
  })
})

test('the model that `npm start` runs is offered free at its address, for chat and for embeddings', async () => {
  const { models } = (await open({ localModelUrl: 'http://127.0.0.1:9/' })).snapshot()
  const [chat, embeddings] = [...models.values()].filter(({ id }) => id.startsWith('local/'))
  expect(chat).toMatchObject({ id: 'local/gemma-3-270m', kind: 'chat', rate: { prompt: 0n, completion: 0n } })
  expect(embeddings).toMatchObject({ id: 'local/gemma-3-270m-embeddings', kind: 'embeddings' })
  expect(chat!.offers[0]!.provider.baseUrl).toBe('http://127.0.0.1:9/v1')
})

describe('Ollama', () => {
  const listening = async (body: string) => {
    const server = createServer((_request, response) => response.end(body))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  }

  test("its models are in the catalog, free, under ids without a suffix's colon", async () => {
    const list = { data: [{ id: 'llama3.2:3b' }, { id: 'qwen3:latest' }, { id: 'nomic-embed-text' }] }
    const { server, url } = await listening(JSON.stringify(list))
    const { models } = (await open({ ollamaUrl: url })).snapshot()
    expect([...models.keys()].filter((id) => id.startsWith('ollama/'))).toEqual([
      'ollama/llama3.2-3b',
      'ollama/qwen3',
    ])
    expect(models.get('ollama/llama3.2-3b')).toMatchObject({ rate: { prompt: 0n, completion: 0n } })
    expect(models.get('ollama/llama3.2-3b')!.offers[0]!.upstreamModel).toBe('llama3.2:3b')
    server.close()
  })

  test('that answers nonsense is only a warning', async () => {
    const { server, url } = await listening('<html>')
    const { models } = (await open({ ollamaUrl: url })).snapshot()
    expect([...models.keys()].filter((id) => id.startsWith('ollama/'))).toEqual([])
    expect(logger.warn).toHaveBeenCalledOnce()
    server.close()
  })
})
