import { describe, expect, test } from 'vitest'
import { findModel, isAvailable } from '../../../src/core/catalog/catalog.ts'
import {
  buildCatalogSnapshot,
  type CatalogSource,
  type SnapshotOptions,
} from '../../../src/core/catalog/catalog-snapshot.ts'
import { formatRate } from '../../../src/core/kernel/money.ts'
import { exampleDocument } from '../../catalog/example-document.ts'

const OPTIONS: SnapshotOptions = {
  discountPercent: 5,
  openWeightsDiscountPercent: 20,
  generatedAt: 1_700_000_000,
  isUsable: () => true,
}

const source = (content: unknown, extra: Partial<CatalogSource> = {}): CatalogSource => ({
  name: 'file.json',
  content,
  updatedAt: 1_600_000_000,
  ...extra,
})

function build(sources: CatalogSource[], options: Partial<SnapshotOptions> = {}) {
  const result = buildCatalogSnapshot(sources, { ...OPTIONS, ...options })
  if (result.kind === 'problems') throw new Error(result.problems.join('\n'))
  return result.snapshot
}

const withModel = (fields: Record<string, unknown>) => {
  const document = exampleDocument()
  return { ...document, models: [{ ...document.models[0], ...fields }] }
}

describe('a snapshot', () => {
  test("holds the contract's example with its listed rate, 5 % under the list price", () => {
    const model = build([source(exampleDocument())]).models.get('acme/large-1')!
    expect([formatRate(model.rate.prompt), formatRate(model.rate.completion)]).toEqual(['1.90', '7.60'])
    expect(model.offers[0]).toMatchObject({
      id: 'acme/large-1',
      upstreamModel: 'large-1',
      cost: { prompt: 1_800_000n },
    })
    expect(model.offers[0]!.provider).toMatchObject({
      zdr: true,
      dataCollection: 'deny',
      apiKeyEnv: 'ACME_API_KEY',
    })
    expect(model.updatedAt).toBe(1_600_000_000)
  })

  test('finds a model by an alias of a later document, and reports models of aliases that do not exist', () => {
    const aliases = [
      { id: 'ours', models: ['no/such', 'acme/large-1'] },
      { id: 'gone', models: ['no/such'] },
    ]
    const result = buildCatalogSnapshot(
      [source({ ...exampleDocument(), aliases: [{ id: 'ours', models: ['no/such'] }] }), source({ aliases })],
      OPTIONS,
    )
    if (result.kind === 'problems') throw new Error(result.problems.join('\n'))
    expect(findModel(result.snapshot, 'ours')?.id).toBe('acme/large-1')
    expect(findModel(result.snapshot, 'gone')).toBeNull()
    expect(result.unknown).toEqual(
      ['ours', 'gone'].map((id) => `file.json: aliases[${id}]: there is no model "no/such"`),
    )
  })

  test('discounts open weights more deeply and cuts rates down to six decimals', () => {
    const snapshot = build([
      source(withModel({ open_weights: true, list_price: { prompt: '0.000001', completion: '0.39' } })),
    ])
    const { rate } = snapshot.models.get('acme/large-1')!
    expect([rate.prompt, rate.completion]).toEqual([0n, 312_000n])
  })

  test('takes a rate that the operator sets himself as it is, up to 5 % below the list price', () => {
    const snapshot = build([source(withModel({ rate: { prompt: '1.90', completion: '7' } }))])
    expect(snapshot.models.get('acme/large-1')!.rate).toEqual({ prompt: 1_900_000n, completion: 7_000_000n })
  })

  test('holds a rate to 5 % below a list price that another document lowers, and says so', () => {
    const rated = source({
      changes: { models: [{ id: 'acme/large-1', rate: { prompt: '1.90', completion: '7' } }] },
    })
    const lowered = {
      changes: { models: [{ id: 'acme/large-1', list_price: { prompt: '1', completion: '8' } }] },
    }
    const result = buildCatalogSnapshot([source(exampleDocument()), rated, source(lowered)], OPTIONS)
    if (result.kind !== 'snapshot') throw new Error(result.problems.join())
    expect(result.snapshot.models.get('acme/large-1')!.rate).toEqual({
      prompt: 950_000n,
      completion: 7_000_000n,
    })
    expect(result.held).toEqual([
      { modelId: 'acme/large-1', problem: expect.stringContaining('the highest rate is 0.95') },
    ])
  })

  test('fills in every optional field', () => {
    const document = {
      providers: [{ id: 'p', base_url: 'http://h/v1/' }],
      models: [
        {
          id: 'v/m',
          vendor: 'v',
          context_length: 1000,
          list_price: { prompt: '1', completion: '2' },
          offers: [{ provider: 'p', upstream_model: 'm' }],
        },
      ],
    }
    const model = build([source(document)]).models.get('v/m')!
    expect(model).toMatchObject({ name: 'v/m', maxOutputTokens: 1000, inputModalities: ['text'], auto: true })
    expect(model.offers[0]).toMatchObject({ cost: { prompt: 900_000n }, exactTools: false })
    expect(model.offers[0]!.provider).toMatchObject({
      baseUrl: 'http://h/v1',
      limitParameter: 'max_tokens',
      dataCollection: 'allow',
      apiKeyEnv: null,
      wire: 'chat-completions',
    })
  })

  test('knows which sampling parameters a reasoning model refuses', () => {
    const refused = (fields: Record<string, unknown>) =>
      build([source(withModel(fields))]).models.get('acme/large-1')!.offers[0]!.refusedSampling
    expect(refused({ reasoning: true, supported_parameters: ['tools'] })).toEqual(['temperature', 'top_p'])
    expect(refused({ reasoning: true, supported_parameters: ['temperature', 'top_p'] })).toBeUndefined()
    expect(refused({ reasoning: true, supported_parameters: undefined })).toBeUndefined()
    expect(refused({ reasoning: false, supported_parameters: ['tools'] })).toBeUndefined()
  })

  test("reads a provider's quirks", () => {
    const document = exampleDocument()
    Object.assign(document.providers[0]!, {
      quirks: {
        auth_header: 'api-key',
        omit: ['stream_options'],
        temperature_max: 1,
        headers: { 'x-version': '2' },
      },
    })
    const { provider } = build([source(document)]).models.get('acme/large-1')!.offers[0]!
    expect(provider.quirks).toEqual({
      authHeader: 'api-key',
      omit: ['stream_options'],
      temperatureMax: 1,
      headers: { 'x-version': '2' },
    })
  })

  test.each([
    ['https://bedrock-runtime.eu-central-1.amazonaws.com', {}, 'eu-central-1'],
    ['https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com', {}, 'us-gov-west-1'],
    ['https://vpce-0a1b-2c3d.bedrock-runtime.us-east-2.vpce.amazonaws.com', {}, 'us-east-2'],
    ['https://bedrock-mantle.us-east-1.api.aws/v1', {}, 'us-east-1'],
    ['https://proxy.example.com/bedrock', { region: 'ap-south-1' }, 'ap-south-1'],
  ])('signs for the region of %s %j', (url, fields, region) => {
    const document = exampleDocument()
    Object.assign(document.providers[0]!, { base_url: url, credentials: { kind: 'aws', ...fields } })
    const { provider } = build([source(document)]).models.get('acme/large-1')!.offers[0]!
    expect(provider.credentials).toEqual({ kind: 'aws', region })
  })

  test('keeps models that no shared offer serves, but not for `auto`', () => {
    const snapshot = build([source(exampleDocument())], {
      isUsable: (provider) => provider.apiKeyEnv === null,
    })
    expect(snapshot.models.size).toBeGreaterThan(0)
    expect([...snapshot.models.values()].filter(isAvailable)).toEqual([])
    expect(snapshot.autoLadder).toEqual([])
  })

  test('keeps offers apart when two models share one upstream model', () => {
    const document = exampleDocument()
    document.models.push({ ...document.models[0]!, id: 'acme/large-latest' })
    const snapshot = build([source(document)])
    expect([...snapshot.offers.keys()]).toEqual(['acme/large-1', 'acme/large-1@acme/large-latest'])
  })

  test('reports an offer at an unknown provider', () => {
    const document = { ...exampleDocument(), providers: [] }
    const result = buildCatalogSnapshot([source(document)], OPTIONS)
    expect(result).toEqual({
      kind: 'problems',
      problems: ['file.json: models[0].offers[0].provider: there is no provider "acme"'],
    })
  })
})

describe('several documents', () => {
  const first = source({
    providers: [{ id: 'base', base_url: 'http://base/v1' }],
    models: [
      {
        id: 'gpt-x',
        vendor: 'openai',
        context_length: 1000,
        list_price: { prompt: '1', completion: '2' },
        offers: [{ provider: 'base', upstream_model: 'gpt-x' }],
      },
    ],
  })

  test('add up; a later one overrides models of the same id and may use earlier providers', () => {
    const later = withModel({ id: 'gpt-x', offers: [{ provider: 'base', upstream_model: 'other' }] })
    const snapshot = build([first, source({ ...later, replace: false })])
    expect(snapshot.models.size).toBe(1)
    expect(findModel(snapshot, 'openai/gpt-x')!.offers[0]!.id).toBe('base/other')
  })

  test('a provider named again in a later document keeps its unstated fields, such as its key', () => {
    const provider = {
      id: 'base',
      name: 'Base',
      base_url: 'https://base.example/v1',
      api_key_env: 'BASE_API_KEY',
      limit_parameter: 'max_completion_tokens',
      quirks: { developer_role: true, task_urls: { rerank: 'https://base.example/v2/rerank' } },
    }
    const shipped = source({ ...(first.content as object), providers: [provider] })
    const providerOf = (restated: object) =>
      findModel(build([shipped, source({ providers: [{ id: 'base', ...restated }] })]), 'gpt-x')!.offers[0]!
        .provider

    const proxied = providerOf({ base_url: 'http://127.0.0.1:18888/v1' })
    expect(proxied).toMatchObject({
      name: 'Base',
      baseUrl: 'http://127.0.0.1:18888/v1',
      apiKeyEnv: 'BASE_API_KEY',
      limitParameter: 'max_completion_tokens',
    })
    expect(proxied.quirks).toEqual({ developerRole: true })

    const retained = providerOf({ base_url: provider.base_url, zdr: true, quirks: { omit: ['seed'] } })
    expect(retained).toMatchObject({ zdr: true, apiKeyEnv: 'BASE_API_KEY' })
    expect(retained.quirks).toEqual({
      developerRole: true,
      omit: ['seed'],
      taskUrls: { rerank: 'https://base.example/v2/rerank' },
    })

    expect(providerOf({ base_url: provider.base_url, api_key_env: null }).apiKeyEnv).toBeNull()
  })

  test('replace forgets everything before', () => {
    const snapshot = build([first, source(exampleDocument())])
    expect([...snapshot.models.keys()]).toEqual(['acme/large-1'])
  })

  test('that leave no model at all are no catalog', () => {
    const empty = { name: 'cut.json', content: { replace: true }, updatedAt: 0 }
    expect(buildCatalogSnapshot([first, empty], OPTIONS)).toEqual({
      kind: 'problems',
      problems: ['cut.json: leaves no model'],
    })
  })

  test('a last resort serves auto only where nothing else does', () => {
    const lastResort = { ...first, autoLastResort: true }
    expect(build([lastResort]).autoLadder.map(({ id }) => id)).toEqual(['gpt-x'])
    const both = build([lastResort, source({ ...exampleDocument(), replace: false })])
    expect(both.autoLadder.map(({ id }) => id)).toEqual(['acme/large-1'])
    expect(both.models.size).toBe(2)
  })

  test('auto: false keeps a model out of the ladder but in the catalog', () => {
    const snapshot = build([first, source({ ...withModel({ auto: false }), replace: false })])
    expect(snapshot.autoLadder.map(({ id }) => id)).toEqual(['gpt-x'])
    expect(snapshot.models.has('acme/large-1')).toBe(true)
  })
})

describe('versions', () => {
  test('the rate version changes exactly when the rates do', () => {
    const version = (fields: Record<string, unknown>) =>
      build([source(withModel(fields))]).models.get('acme/large-1')!.rateVersion
    expect(version({ context_length: 5 })).toBe(version({}))
    expect(version({ list_price: { prompt: '2.01', completion: '8.00' } })).not.toBe(version({}))
  })

  test('the catalog version changes with its content and not with its time', () => {
    const version = (fields: Record<string, unknown>, generatedAt: number, updatedAt: number) =>
      build([source(withModel(fields), { updatedAt })], { generatedAt }).version
    expect(version({}, 1, 1)).toBe(version({}, 2, 2))
    expect(version({ context_length: 5 }, 1, 1)).not.toBe(version({}, 1, 1))
  })
})
