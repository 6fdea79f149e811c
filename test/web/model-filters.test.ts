import { describe, expect, test } from 'vitest'
import type { PricingFeedEntry } from '../../src/core/catalog/pricing-feed-view.ts'
import { filterModels, readModelFilters } from '../../web/lib/model-filters.ts'

function model(id: string, fields: Partial<PricingFeedEntry> = {}): PricingFeedEntry {
  return {
    id,
    name: id,
    vendor: id.split('/')[0] ?? '',
    prompt: '1.00',
    completion: '4.00',
    list_prompt: '1.06',
    list_completion: '4.22',
    discount: '0.05',
    context_length: 128_000,
    max_output_tokens: 8_192,
    input_modalities: ['text'],
    open_weights: false,
    zdr: false,
    status: 'available',
    updated_at: '2027-01-01T00:00:00.000Z',
    ...fields,
  }
}

const MODELS = [
  model('acme/large', { name: 'Acme Large', prompt: '3.00', completion: '15.00', zdr: true }),
  model('acme/small', { name: 'Acme Small', prompt: '0.10', completion: '0.40', context_length: 32_000 }),
  model('other/vision', { name: 'Vision', input_modalities: ['text', 'image'], open_weights: true }),
  model('other/gone', { name: 'Gone', status: 'unavailable' }),
]

const ids = (search: Record<string, unknown>) =>
  filterModels(MODELS, readModelFilters(search)).map(({ id }) => id)

describe('the filters of the catalog', () => {
  test('shows what can be called, by name, until asked otherwise', () => {
    expect(ids({})).toEqual(['acme/large', 'acme/small', 'other/vision'])
    expect(ids({ all: 'true' })).toContain('other/gone')
  })

  test.each([
    [{ q: 'LARGE acme' }, ['acme/large']],
    [{ vendor: 'other' }, ['other/vision']],
    [{ max_price: '4' }, ['acme/small', 'other/vision']],
    [{ min_context: 100_000 }, ['acme/large', 'other/vision']],
    [{ input: 'image' }, ['other/vision']],
    [{ zdr: true }, ['acme/large']],
    [{ open_weights: 'true' }, ['other/vision']],
    [{ q: 'acme', zdr: 'true', max_price: 1 }, []],
  ])('finds with %j only %j', (search, found) => {
    expect(ids(search)).toEqual(found)
  })

  test.each([
    ['price', ['acme/small', 'other/vision', 'acme/large']],
    ['dearest', ['acme/large', 'other/vision', 'acme/small']],
    ['context', ['acme/large', 'other/vision', 'acme/small']],
  ])('sorts by %s', (sort, order) => {
    expect(ids({ sort })).toEqual(order)
  })

  test('leaves out of an address whatever is no filter, and never fails on one', () => {
    expect(readModelFilters({ max_price: 'dear', min_context: -1, sort: 'up', zdr: 'no', x: 1 })).toEqual({})
    expect(readModelFilters({ q: { $ne: 1 }, vendor: ['a'] })).toEqual({})
  })
})
