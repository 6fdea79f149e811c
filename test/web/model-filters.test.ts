import { describe, expect, test } from 'vitest'
import { filterModels } from '../../web/lib/models/filter-models.ts'
import { bareName, type CatalogModel, findModel } from '../../web/lib/models/model-catalog.ts'
import { readCompared, readModelFilters } from '../../web/lib/models/model-filters.ts'

function model(id: string, fields: Partial<CatalogModel> = {}): CatalogModel {
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
    max_output_tokens: null,
    maker: id.split('/')[0] ?? '',
    supported_parameters: [],
    reasoning: false,
    released_at: null,
    deprecated_at: null,
    popularity: null,
    quality: null,
    first_token_ms: null,
    tokens_per_second: null,
    input_modalities: ['text'],
    open_weights: false,
    zdr: false,
    status: 'available',
    updated_at: '2027-01-01T00:00:00.000Z',
    ...fields,
  }
}

const MODELS = [
  model('acme/large', {
    name: 'Acme Large',
    prompt: '3.00',
    completion: '15.00',
    zdr: true,
    supported_parameters: ['tools', 'response_format'],
    released_at: '2026-01-31',
    popularity: 2,
    quality: { value: 0.7, standard_error: 0.02, basis: 'line', source: null },
  }),
  model('acme/small', {
    name: 'Acme Small',
    prompt: '0.10',
    completion: '0.40',
    context_length: 32_000,
    reasoning: true,
    tokens_per_second: 80,
  }),
  model('other/vision', {
    name: 'Vision',
    input_modalities: ['text', 'image'],
    open_weights: true,
    supported_parameters: ['tools'],
    released_at: '2026-05-01',
    popularity: 1,
    tokens_per_second: 120.5,
  }),
  model('other/gone', { name: 'Gone', status: 'unavailable' }),
]

const ids = (search: Record<string, unknown>) =>
  filterModels(MODELS, readModelFilters(search)).map(({ id }) => id)

describe('the filters of the catalog', () => {
  test('shows what can be called, the most used first, until asked otherwise', () => {
    expect(ids({})).toEqual(['other/vision', 'acme/large', 'acme/small'])
    expect(ids({ all: 'true' })).toContain('other/gone')
  })

  test.each([
    [{ q: 'LARGE acme' }, ['acme/large']],
    [{ vendor: 'other' }, ['other/vision']],
    [{ max_price: '4' }, ['other/vision', 'acme/small']],
    [{ min_context: 100_000 }, ['other/vision', 'acme/large']],
    [{ tools: true }, ['other/vision', 'acme/large']],
    [{ structured: 'true' }, ['acme/large']],
    [{ reasoning: true }, ['acme/small']],
    [{ kind: 'embeddings' }, []],
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
    ['newest', ['other/vision', 'acme/large', 'acme/small']],
    ['quality', ['acme/large', 'acme/small', 'other/vision']],
    ['speed', ['other/vision', 'acme/small', 'acme/large']],
    ['name', ['acme/large', 'acme/small', 'other/vision']],
  ])('sorts by %s', (sort, order) => {
    expect(ids({ sort })).toEqual(order)
  })

  test('leaves out of an address whatever is no filter, and never fails on one', () => {
    expect(
      readModelFilters({ max_price: 'dear', min_context: -1, sort: 'up', view: 'map', zdr: 'no', x: 1 }),
    ).toEqual({})
    expect(readModelFilters({ q: { $ne: 1 }, vendor: ['a'] })).toEqual({})
  })
})

describe('the search of the catalog', () => {
  const named = (id: string, name: string, maker: string) => model(id, { name, maker })
  const catalog = [
    named('gpt-5.1-codex-max', 'GPT 5.1 Codex Max', 'OpenAI'),
    named('gpt-5-mini', 'GPT-5 Mini', 'OpenAI'),
    named('gpt-5', 'GPT-5', 'OpenAI'),
    named('gpt-4o', 'GPT-4o', 'OpenAI'),
    named('deepseek/deepseek-r1', 'R1', 'DeepSeek'),
    named('meta-llama/llama-4-scout', 'Llama 4 Scout', 'Meta'),
    named('mistralai/mistral-large', 'Mistral Large', 'Mistral AI'),
  ]
  const found = (q: string) => filterModels(catalog, { q }).map(({ id }) => id)

  test.each([
    ['gpt-5', ['gpt-5', 'gpt-5-mini', 'gpt-5.1-codex-max']],
    ['GPT 5', ['gpt-5', 'gpt-5-mini', 'gpt-5.1-codex-max']],
    ['openai/gpt-5', ['gpt-5', 'gpt-5-mini', 'gpt-5.1-codex-max']],
    ['gpt-5:nitro', ['gpt-5', 'gpt-5-mini', 'gpt-5.1-codex-max']],
    ['mini', ['gpt-5-mini']],
    ['meta', ['meta-llama/llama-4-scout']],
    ['mistral ai large', ['mistralai/mistral-large']],
    ['scout llama', ['meta-llama/llama-4-scout']],
    ['istral', ['mistralai/mistral-large']],
    ['dpsk', ['deepseek/deepseek-r1']],
    ['gp', ['gpt-5', 'gpt-4o', 'gpt-5-mini', 'gpt-5.1-codex-max']],
    ['nothing like it', []],
  ])('finds with “%s” the best match first', (q, expected) => {
    expect(found(q)).toEqual(expected)
  })

  test('an order that was asked for takes precedence', () => {
    const order = filterModels(catalog, { q: 'gpt', sort: 'name' }).map(({ id }) => id)
    expect(order).toEqual(['gpt-5.1-codex-max', 'gpt-4o', 'gpt-5', 'gpt-5-mini'])
  })

  test.each([
    ['gpt-5', 'gpt-5'],
    ['openai/gpt-5', 'gpt-5'],
    ['openai/gpt-5:floor', 'gpt-5'],
    ['DeepSeek/DeepSeek-R1', 'deepseek/deepseek-r1'],
    ['deepseek-r1', undefined],
    ['openai/deepseek/deepseek-r1', undefined],
  ])('the name %s of a call leads to %s', (name, id) => {
    expect(findModel(catalog, name)?.id).toBe(id)
  })
})

test('a model has one form of its name wherever calls are listed', () => {
  expect(['openai/gpt-5', 'gpt-5:floor', 'openai/a/b', 'acme/swift'].map(bareName)).toEqual([
    ...['gpt-5', 'gpt-5:floor', 'openai/a/b', 'acme/swift'],
  ])
})

test('a comparison has up to four models, each once', () => {
  expect(readCompared({ models: 'a,b,,a,c,d,e' })).toEqual({ models: 'a,b,c,d' })
  expect(readCompared({ models: 7, other: 1 })).toEqual({ models: '7' })
  expect(readCompared({})).toEqual({})
})
