import { afterEach, beforeAll, expect, test } from 'vitest'
import {
  type OverlayWatch,
  readOverlay,
  watchOverlay,
  writeOverlay,
} from '../../src/catalog/catalog-overlay.ts'
import { type CatalogStore, createCatalogStore } from '../../src/catalog/catalog-store.ts'
import { createLogger } from '../../src/platform/observability/logger.ts'
import type { Redis } from '../../src/platform/redis/redis.ts'
import { CATALOG_OVERLAY } from '../../src/platform/redis/redis-keys.ts'
import { environmentKeys } from '../helpers/environment-keys.ts'
import { eventually } from '../helpers/eventually.ts'
import { testRedis } from '../helpers/resources.ts'

const logger = createLogger('silent', 'test')
let redis: Redis
let subscriber: Redis
let watch: OverlayWatch | undefined
let store: CatalogStore | undefined

const server = testRedis()
beforeAll(() => {
  redis = server.connect()
  subscriber = server.connect()
})
afterEach(async () => {
  store?.close()
  watch?.stop()
  await redis.flushall()
})

const edits = (content: unknown, id = '1') => ({ id, name: 'edits', content, updatedAt: 0 })

async function open() {
  watch = await watchOverlay({ redis, subscriber, logger, pollMs: 100 })
  store = await createCatalogStore({
    catalogFile: null,
    catalogKeyNames: [],
    platformKeys: environmentKeys({ OPENAI_API_KEY: 'k' }),
    simulatedProvidersUrl: null,
    ollamaUrl: null,
    localModelUrl: null,
    discountPercent: 5,
    openWeightsDiscountPercent: 20,
    overlay: watch,
    logger,
  })
  return store
}

const isShared = (offerId: string) => store!.snapshot().offers.get(offerId)?.shared ?? false
const disabled = { changes: { models: [{ id: 'gpt-4o', disabled: true }] } }

test('what the fleet shares is in force from the start, and each change soon after', async () => {
  await writeOverlay(redis, { stored: edits(disabled) })
  await open()
  expect(isShared('openai/gpt-4o')).toBe(false)
  await writeOverlay(redis, { stored: edits({}, '2') })
  await eventually(() => expect(isShared('openai/gpt-4o')).toBe(true))
  await writeOverlay(redis, { unlisted: ['openai/gpt-4o'] })
  await eventually(() => expect(isShared('openai/gpt-4o')).toBe(false))
})

test('a change whose message was lost is seen by polling', async () => {
  await open()
  await redis.hset(CATALOG_OVERLAY, { stored: JSON.stringify(edits(disabled)), version: 'silent' })
  await eventually(() => expect(isShared('openai/gpt-4o')).toBe(false))
})

test('price files change list prices and so rates; edits go before them', async () => {
  await open()
  const priced = (prompt: string) => ({
    changes: { models: [{ id: 'gpt-4o', list_price: { prompt, completion: '10' } }] },
  })
  await writeOverlay(redis, { prices: [{ name: 'prices', content: priced('2'), updatedAt: 0 }] })
  await eventually(() => expect(store!.snapshot().models.get('gpt-4o')!.rate.prompt).toBe(1_900_000n))
  await writeOverlay(redis, { stored: edits(priced('3')) })
  await eventually(() => expect(store!.snapshot().models.get('gpt-4o')!.rate.prompt).toBe(2_850_000n))
})

test('tokens of own calls are estimates of their models; edits go before them', async () => {
  await open()
  const tokens = () => store!.snapshot().models.get('gpt-4o')!.completionTokens
  await writeOverlay(redis, { ownTokens: { 'gpt-4o': { code: 700 } } })
  await eventually(() => expect(tokens()).toEqual({ code: 700 }))
  const stated = { changes: { models: [{ id: 'gpt-4o', completion_tokens: { code: 900 } }] } }
  await writeOverlay(redis, { stored: edits(stated) })
  await eventually(() => expect(tokens()).toEqual({ code: 900 }))
})

test('a Redis that lost its data, and edits that make no catalog, leave the last good one', async () => {
  await writeOverlay(redis, { stored: edits(disabled) })
  await open()
  await redis.flushall()
  await writeOverlay(redis, { stored: edits({ models: [{}] }, '2') })
  await eventually(() => expect(watch!.current()!.stored!.id).toBe('2'))
  expect(isShared('openai/gpt-4o')).toBe(false)
  await writeOverlay(redis, { stored: edits({}, '3') })
  await eventually(() => expect(isShared('openai/gpt-4o')).toBe(true))
})

test('edits that make no catalog do not keep a process from starting', async () => {
  await writeOverlay(redis, { stored: edits({ models: [{}] }) })
  await open()
  expect(isShared('openai/gpt-4o')).toBe(true)
})

test('an overlay that is broken is no overlay', async () => {
  await redis.hset(CATALOG_OVERLAY, { stored: '{"name":1}', version: 'x' })
  await expect(readOverlay(redis)).rejects.toThrow('broken')
  await open()
  expect(isShared('openai/gpt-4o')).toBe(true)
})
