import { expect, test } from 'vitest'
import { catalogModelList, opaqueModelList } from '../../src/catalog/model-list.ts'
import { pricingFeed } from '../../src/catalog/pricing-feed.ts'
import type { CatalogSnapshot } from '../../src/core/catalog.ts'
import { buildCatalogSnapshot } from '../../src/core/catalog-snapshot.ts'
import { exampleDocument } from './example-document.ts'

function snapshotOf(content: unknown): CatalogSnapshot {
  const result = buildCatalogSnapshot([{ name: 'file', content, updatedAt: 1_600_000_000 }], {
    discountPercent: 5,
    openWeightsDiscountPercent: 20,
    generatedAt: 1_700_000_000,
    isUsable: () => true,
  })
  if (result.kind === 'problems') throw new Error(result.problems.join())
  return result.snapshot
}

test('the pricing feed has the fields of the contract, rates as decimal strings', () => {
  const snapshot = snapshotOf(exampleDocument())
  expect(pricingFeed(snapshot)).toEqual({
    version: snapshot.version,
    generated_at: '2023-11-14T22:13:20.000Z',
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

test('the pricing feed names no provider and no upstream model', () => {
  const document = exampleDocument()
  document.providers[0]!.id = 'secret-host'
  document.models[0]!.offers[0] = {
    ...document.models[0]!.offers[0]!,
    provider: 'secret-host',
    upstream_model: 'hidden',
  }
  expect(JSON.stringify(pricingFeed(snapshotOf(document)))).not.toMatch(/secret-host|hidden|9001/)
})

test.each([
  [{ prompt: '0', completion: '0' }, undefined, '0.00'],
  [{ prompt: '1', completion: '1' }, { prompt: '0.5', completion: '0.8765' }, '0.1235'],
])('list %j at rate %j is a discount of %s', (listPrice, rate, discount) => {
  const document = exampleDocument()
  const model = { ...document.models[0], list_price: listPrice, ...(rate && { rate }) }
  expect(pricingFeed(snapshotOf({ ...document, models: [model] })).data[0]!.discount).toBe(discount)
})

test('ordinary keys see one opaque model, admins the catalog with its offers', () => {
  const snapshot = snapshotOf(exampleDocument())
  expect(opaqueModelList(snapshot)).toEqual({
    object: 'list',
    data: [{ id: 'auto', object: 'model', created: 1_700_000_000, owned_by: 'switchyard' }],
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
