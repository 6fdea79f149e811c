import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { CatalogDocument } from '../../../src/core/catalog/catalog-document.ts'
import { printDocument } from '../../../src/core/catalog/print-document.ts'
import {
  PUBLIC_SOURCES,
  type PublicSource,
  readPublicListing,
} from '../../../src/core/catalog/public-listings.ts'
import { editsWithRefresh, refreshCatalog, withRefresh } from '../../../src/core/catalog/refresh-catalog.ts'
import { builtCatalog } from '../../helpers/built-catalog.ts'

const DAY = '2026-11-28'

const DOCUMENT: CatalogDocument = {
  source: 'a test',
  dated: '2026-01-01',
  providers: ['anthropic', 'deepinfra', 'openrouter'].map((id) => ({ id, base_url: 'https://a.example/v1' })),
  models: [
    {
      id: 'anthropic/claude-swift-5.5',
      vendor: 'anthropic',
      context_length: 200_000,
      max_output_tokens: 64_000,
      supported_parameters: ['tools', 'temperature', 'top_p'],
      list_price: { prompt: '1', completion: '5', cache_read: '0.1' },
      offers: [
        { provider: 'anthropic', upstream_model: 'claude-swift-5-5' },
        { provider: 'openrouter', upstream_model: 'anthropic/claude-swift-5.5' },
      ],
    },
    {
      id: 'z-ai/glm-9',
      vendor: 'z-ai',
      context_length: 100_000,
      list_price: { prompt: '2', completion: '4' },
      offers: [{ provider: 'deepinfra', upstream_model: 'zai-org/GLM-9' }],
    },
  ],
}

/** The three lists in their published forms. */
function lists() {
  const swift = { prompt: 0.5, completion: 2.5 }
  const modelsDev = {
    anthropic: {
      id: 'anthropic',
      models: {
        'claude-swift-5-5': {
          id: 'claude-swift-5-5',
          name: 'Claude Swift 5.5',
          reasoning: true,
          tool_call: true,
          temperature: false,
          release_date: '2026-10-07',
          open_weights: false,
          modalities: { input: ['text', 'image'], output: ['text'] },
          cost: { input: swift.prompt, output: swift.completion, cache_read: 0.05 },
          limit: { context: 1_000_000, output: 128_000 },
        },
      },
    },
    deepinfra: {
      id: 'deepinfra',
      models: {
        'zai-org/GLM-9': { cost: { input: 2, output: 4 }, limit: { context: 100_000 }, reasoning: true },
        'acme-labs/Open-3': {
          name: 'Open 3',
          open_weights: true,
          tool_call: true,
          cost: { input: 0.2, output: 0.4 },
          limit: { context: 64_000, output: 8_000 },
        },
      },
    },
    openrouter: {
      models: { 'z-ai/glm-9': { cost: { input: 1.8, output: 3.6 }, limit: { context: 100_000 } } },
    },
  }
  const litellm = {
    sample_spec: { litellm_provider: 'one of them', mode: 'one of these' },
    'claude-swift-5-5': {
      litellm_provider: 'anthropic',
      mode: 'chat',
      input_cost_per_token: 5e-7,
      output_cost_per_token: 2.5e-6,
      cache_read_input_token_cost: 5e-8,
      max_input_tokens: 872_000,
      max_output_tokens: 128_000,
      supports_function_calling: true,
      supports_reasoning: true,
      supported_openai_params: ['tools'],
    },
    'deepinfra/zai-org/GLM-9': {
      litellm_provider: 'deepinfra',
      mode: 'chat',
      input_cost_per_token: 1e-6,
      output_cost_per_token: 4e-6,
    },
    'deepinfra/acme-labs/Open-3': {
      litellm_provider: 'deepinfra',
      mode: 'chat',
      input_cost_per_token: 2e-7,
      output_cost_per_token: 4e-7,
      supports_function_calling: true,
    },
    'claude-gone': {
      litellm_provider: 'anthropic',
      mode: 'chat',
      input_cost_per_token: 1e-6,
      output_cost_per_token: 1e-6,
      deprecation_date: '2026-01-01',
    },
  }
  const openrouter = {
    data: [
      {
        id: 'anthropic/claude-swift-5.5',
        name: 'Anthropic: Claude Swift 5.5',
        context_length: 1_000_000,
        pricing: { prompt: '0.0000005', completion: '0.0000025' },
        top_provider: { max_completion_tokens: 128_000 },
        architecture: { input_modalities: ['text', 'image'] },
        supported_parameters: ['tools', 'reasoning'],
      },
      {
        id: 'z-ai/glm-9',
        context_length: 100_000,
        pricing: { prompt: '0.0000018', completion: '0.0000036' },
      },
      {
        id: 'acme/open-3',
        name: 'Acme: Open 3',
        context_length: 64_000,
        pricing: { prompt: '0', completion: '0' },
        supported_parameters: ['tools'],
      },
      { id: 'anthropic/claude-swift-5.5:free', context_length: 1, pricing: { prompt: '0', completion: '0' } },
    ],
  }
  return { 'models.dev': modelsDev, litellm, openrouter }
}

const read = (content: Record<PublicSource, unknown>) =>
  PUBLIC_SOURCES.flatMap((source) => readPublicListing(source, content[source], DAY))

describe('a refresh of the catalog from public lists', () => {
  test('changes what two of three lists state alike', () => {
    const { changes, differences } = refreshCatalog(DOCUMENT, read(lists()))
    expect(changes.models).toEqual([
      {
        id: 'anthropic/claude-swift-5.5',
        list_price: { prompt: '0.5', completion: '2.5', cache_read: '0.05' },
        context_length: 1_000_000,
        max_output_tokens: 128_000,
        reasoning: true,
        supported_parameters: ['tools'],
      },
    ])
    expect(differences).toContainEqual({
      subject: 'anthropic/claude-swift-5.5',
      field: 'list_price',
      catalog: '1 / 5',
      stated: ['models.dev: 0.5 / 2.5', 'litellm: 0.5 / 2.5', 'openrouter: 0.5 / 2.5'],
      agreed: '0.5 / 2.5',
    })
  })

  test('shows prices on which no two lists agree, and leaves them', () => {
    const { changes, differences } = refreshCatalog(DOCUMENT, read(lists()))
    expect(changes.offers).toEqual([])
    expect(differences.filter(({ agreed }) => agreed === null)).toEqual([
      {
        subject: 'deepinfra/zai-org/GLM-9',
        field: 'list_price',
        catalog: '2 / 4',
        stated: ['models.dev: 2 / 4', 'litellm: 1 / 4'],
        agreed: null,
      },
    ])
  })

  test('takes prices within one percent for the same, and those of an offer from its provider', () => {
    const some = lists()
    some.litellm['deepinfra/zai-org/GLM-9'].input_cost_per_token = 3.01e-6
    some['models.dev'].deepinfra.models['zai-org/GLM-9'].cost = { input: 3, output: 4 }
    expect(refreshCatalog(DOCUMENT, read(some)).changes.offers).toEqual([
      {
        provider: 'deepinfra',
        upstream_model: 'zai-org/GLM-9',
        list_price: { prompt: '3', completion: '4' },
      },
    ])
    some.litellm['deepinfra/zai-org/GLM-9'].input_cost_per_token = 3.1e-6
    expect(refreshCatalog(DOCUMENT, read(some)).changes.offers).toEqual([])
  })

  test('one list alone changes nothing, whatever it states', () => {
    const some = lists()
    const alone = { 'models.dev': some['models.dev'], litellm: {}, openrouter: { data: [] } }
    const { changes, added, addedOffers } = refreshCatalog(DOCUMENT, read(alone))
    expect({ changes, added, addedOffers }).toEqual({
      changes: { models: [], offers: [] },
      added: [],
      addedOffers: [],
    })
  })

  test('never adds temperature, never removes response_format, and takes no limit as large as the window', () => {
    const some = lists()
    const { models } = some['models.dev'].anthropic
    models['claude-swift-5-5'].temperature = true
    models['claude-swift-5-5'].limit.output = 1_000_000
    some.litellm['claude-swift-5-5'].max_output_tokens = 1_000_000
    some.litellm['claude-swift-5-5'].supported_openai_params = ['temperature', 'tools']
    some.openrouter.data[0]!.supported_parameters = ['tools', 'temperature']
    some.openrouter.data[0]!.top_provider = { max_completion_tokens: 1_000_000 }
    const [swift] = DOCUMENT.models!
    const plain = { ...swift!, supported_parameters: ['tools', 'response_format'] }
    const { changes } = refreshCatalog({ ...DOCUMENT, models: [plain] }, read(some))
    expect(changes.models[0]).not.toHaveProperty('supported_parameters')
    expect(changes.models[0]).not.toHaveProperty('max_output_tokens')
  })

  test('finds models and offers that two lists price alike, and no free or discontinued ones', () => {
    const { added, addedOffers } = refreshCatalog(DOCUMENT, read(lists()))
    expect(added).toEqual([
      {
        id: 'acme/open-3',
        name: 'Open 3',
        vendor: 'acme',
        context_length: 64_000,
        max_output_tokens: 8_000,
        input_modalities: ['text'],
        supported_parameters: ['tools'],
        reasoning: false,
        open_weights: true,
        list_price: { prompt: '0.2', completion: '0.4' },
        offers: [{ provider: 'deepinfra', upstream_model: 'acme-labs/Open-3' }],
      },
    ])
    expect(addedOffers).toEqual([
      {
        model: 'z-ai/glm-9',
        offer: {
          provider: 'openrouter',
          upstream_model: 'z-ai/glm-9',
          list_price: { prompt: '1.8', completion: '3.6' },
        },
      },
    ])
  })

  test('makes a valid document, in which another refresh finds nothing more', () => {
    const refreshed = withRefresh(DOCUMENT, refreshCatalog(DOCUMENT, read(lists())), DAY)
    expect(refreshed.dated).toBe(DAY)
    expect(builtCatalog([refreshed]).models.size).toBe(3)
    const again = refreshCatalog(refreshed, read(lists()))
    expect(again.changes).toEqual({ models: [], offers: [] })
    expect([again.added, again.addedOffers]).toEqual([[], []])
  })

  test('keeps the edits of operators beside its own', () => {
    const edits: CatalogDocument = {
      changes: {
        models: [{ id: 'anthropic/claude-swift-5.5', rate: { prompt: '0.4', completion: '2' } }],
        providers: [{ id: 'deepinfra', disabled: true }],
      },
    }
    const merged = editsWithRefresh(edits, refreshCatalog(DOCUMENT, read(lists())))
    expect(merged.changes?.providers).toEqual(edits.changes?.providers)
    expect(merged.changes?.models?.[0]).toMatchObject({
      rate: { prompt: '0.4', completion: '2' },
      list_price: { prompt: '0.5' },
    })
    expect(merged.models).toHaveLength(1)
    expect(builtCatalog([DOCUMENT, merged]).models.get('anthropic/claude-swift-5.5')!.contextLength).toBe(
      1_000_000,
    )
  })

  test.each<[PublicSource, unknown]>([
    ['models.dev', []],
    ['litellm', null],
    ['openrouter', { models: [] }],
  ])('refuses a list that is not one of %s', (source, content) => {
    expect(() => readPublicListing(source, content, DAY)).toThrow(`not one of ${source}`)
  })
})

test('the built-in catalog has the form that a refresh writes', () => {
  const text = readFileSync(new URL('../../../src/catalog/data/builtin.json', import.meta.url), 'utf8')
  expect(printDocument(JSON.parse(text))).toBe(text)
})
