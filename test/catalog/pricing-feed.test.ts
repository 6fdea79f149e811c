import { expect, test } from 'vitest'
import { catalogModelList, opaqueModelList } from '../../src/catalog/model-list.ts'
import { pricingFeed, type RateChangeTimes } from '../../src/catalog/pricing-feed.ts'
import type { CatalogSnapshot } from '../../src/core/catalog/catalog.ts'
import { buildCatalogSnapshot } from '../../src/core/catalog/catalog-snapshot.ts'
import { exampleDocument } from './example-document.ts'

function snapshotOf(content: unknown, isUsable = true): CatalogSnapshot {
  const result = buildCatalogSnapshot([{ name: 'file', content, updatedAt: 1_600_000_000 }], {
    discountPercent: 5,
    openWeightsDiscountPercent: 20,
    generatedAt: 1_700_000_000,
    isUsable: () => isUsable,
  })
  if (result.kind === 'problems') throw new Error(result.problems.join())
  return result.snapshot
}

const feedOf = (content: unknown, times: RateChangeTimes = new Map()) =>
  pricingFeed(snapshotOf(content), times)

test('the times of the rate history go before those of documents, and make another version', () => {
  const plain = feedOf(exampleDocument())
  expect(feedOf(exampleDocument()).version).toBe(plain.version)
  const changed = feedOf(exampleDocument(), new Map([['acme/large-1', 1_650_000_000]]))
  expect(changed.generated_at).toBe('2022-04-15T05:20:00.000Z')
  expect(changed.data[0]!.updated_at).toBe('2022-04-15T05:20:00.000Z')
  expect(changed.version).not.toBe(plain.version)
})

test('the pricing feed has the fields of the contract, rates as decimal strings', () => {
  expect(feedOf(exampleDocument())).toEqual({
    version: expect.stringMatching(/^\w+$/),
    generated_at: '2020-09-13T12:26:40.000Z',
    currency: 'USD',
    unit: 'per_million_tokens',
    data: [
      {
        id: 'acme/large-1',
        name: 'Large 1',
        vendor: 'acme',
        prompt: '1.90',
        completion: '7.60',
        list_prompt: '2.00',
        list_completion: '8.00',
        discount: '0.05',
        context_length: 128000,
        max_output_tokens: 8192,
        input_modalities: ['text'],
        open_weights: false,
        zdr: true,
        status: 'available',
        updated_at: '2020-09-13T12:26:40.000Z',
      },
    ],
  })
})

test('a model that is priced by units lists them, the images that it makes, and the margin of each', () => {
  const document = exampleDocument()
  const { offers, ...model } = document.models[0]!
  const images = {
    ...model,
    kind: 'image',
    unit: 'image',
    image_units: { '/512x512': 1, '/1024x1024': 2 },
    least_units: 2,
    list_price: { prompt: '0', completion: '0', units: '20000' },
    offers: [{ ...offers[0]!, cost: { prompt: '0', completion: '0', units: '15000' } }],
  }
  const snapshot = snapshotOf({ ...document, models: [images] })
  expect(pricingFeed(snapshot, new Map()).data[0]).toMatchObject({
    kind: 'image',
    unit: 'image',
    image_units: { '/512x512': 1, '/1024x1024': 2 },
    least_units: 2,
    units: '19000.00',
    list_units: '20000.00',
    discount: '0.05',
  })
  const [listed] = catalogModelList(snapshot.models.values()).data
  expect(listed).toMatchObject({ unit: 'image', image_units: images.image_units })
  expect(listed!.margin!.worst).toEqual({ prompt: '0.00', completion: '0.00', units: '4000.00' })
})

test('the pricing feed promises zero data retention only where a call can reach it', () => {
  const zdrOf = (snapshot: CatalogSnapshot) => pricingFeed(snapshot, new Map()).data.map(({ zdr }) => zdr)
  expect(zdrOf(snapshotOf(exampleDocument()))).toEqual([true])
  expect(zdrOf(snapshotOf(exampleDocument(), false))).toEqual([false])
  const disabled = exampleDocument()
  const models = disabled.models.map((model) => ({ ...model, disabled: true }))
  expect(zdrOf(snapshotOf({ ...disabled, models }))).toEqual([false])
})

test('the pricing feed names no provider and no upstream model', () => {
  const document = exampleDocument()
  document.providers[0]!.id = 'secret-host'
  document.models[0]!.offers[0] = {
    ...document.models[0]!.offers[0]!,
    provider: 'secret-host',
    upstream_model: 'hidden',
  }
  expect(JSON.stringify(feedOf(document))).not.toMatch(/secret-host|hidden|9001/)
})

test.each([
  [{ prompt: '0', completion: '0' }, undefined, '0.00'],
  [{ prompt: '1', completion: '1' }, { prompt: '0.5', completion: '0.8765' }, '0.1235'],
])('list %j at rate %j is a discount of %s', (listPrice, rate, discount) => {
  const document = exampleDocument()
  const model = { ...document.models[0], list_price: listPrice, ...(rate && { rate }) }
  expect(feedOf({ ...document, models: [model] }).data[0]!.discount).toBe(discount)
})

test('ordinary keys see one opaque model, admins the catalog with its offers', () => {
  const snapshot = snapshotOf(exampleDocument())
  expect(opaqueModelList(true)).toEqual({
    object: 'list',
    data: [{ id: 'auto', object: 'model', created: 1_767_571_200, owned_by: 'shuntyard' }],
  })
  const [model] = catalogModelList(snapshot.models.values()).data
  expect(model).toMatchObject({
    id: 'acme/large-1',
    object: 'model',
    owned_by: 'acme',
    rate: { prompt: '1.90' },
  })
  expect(model!.offers[0]).toMatchObject({
    provider: 'acme',
    upstream_model: 'large-1',
    cost: { completion: '7.00' },
  })
})
