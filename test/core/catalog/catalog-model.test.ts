import { describe, expect, test } from 'vitest'
import { withStandIns } from '../../../src/catalog/simulated-catalog.ts'
import type { CatalogDocument } from '../../../src/core/catalog/catalog-document.ts'
import { buildCatalogSnapshot, type SnapshotOptions } from '../../../src/core/catalog/catalog-snapshot.ts'
import { formatRate } from '../../../src/core/kernel/money.ts'
import { supportsParameter } from '../../../src/core/routing/supported-parameters.ts'

const OPTIONS: SnapshotOptions = {
  discountPercent: 5,
  openWeightsDiscountPercent: 20,
  generatedAt: 0,
  isUsable: () => true,
}

const provider = (id: string, more: object = {}) => ({ id, base_url: `http://${id}/v1`, ...more })
const DOCUMENT: CatalogDocument = {
  providers: [provider('maker'), provider('host')],
  models: [
    {
      id: 'v/m',
      vendor: 'v',
      context_length: 1_000_000,
      list_price: { prompt: '1', completion: '10' },
      offers: [
        { provider: 'maker', upstream_model: 'm' },
        { provider: 'host', upstream_model: 'v/m', list_price: { prompt: '1.06', completion: '10' } },
      ],
    },
  ],
}

function build(
  documents: CatalogDocument[],
  options: Partial<SnapshotOptions> = {},
  source: { isOwn?: boolean } = {},
) {
  const sources = documents.map((content, index) => ({
    ...{ name: `document ${index}`, content, updatedAt: 0 },
    ...source,
  }))
  const result = buildCatalogSnapshot(sources, { ...OPTIONS, ...options })
  if (result.kind === 'problems') throw new Error(result.problems.join('\n'))
  return { model: result.snapshot.models.get('v/m')!, unknown: result.unknown, snapshot: result.snapshot }
}

const statesOf = (model: ReturnType<typeof build>['model']) =>
  Object.fromEntries(model.offers.map((offer) => [offer.provider.id, offer.withheld ?? 'shared']))

describe('prices of tools that the provider runs', () => {
  const onWire = (more: object = {}, offer: object = {}) => {
    const document = structuredClone(DOCUMENT)
    document.providers![0] = provider('maker', { wire: 'anthropic-messages' })
    Object.assign(document.models![0]!, more)
    Object.assign(document.models![0]!.offers[0]!, offer)
    return build([document]).model
  }

  test('are those that the maker of the messages wire publishes, for models that are served on it', () => {
    // 10 USD per 1,000 searches, and five minutes at 0.05 USD an hour, in pico-USD.
    expect(onWire().listPrice).toMatchObject({ webSearch: 10_000_000_000n, codeExecution: 4_166_666_667n })
    expect(onWire().rate.webSearch).toBe(9_500_000_000n)
    expect(build([DOCUMENT]).model.listPrice).not.toHaveProperty('webSearch')
  })

  test('are the operator’s where a document states them', () => {
    const list_price = { prompt: '1', completion: '10', web_search: '12000' }
    expect(onWire({ list_price }).listPrice.webSearch).toBe(12_000_000_000n)
    expect(onWire({ rate: { prompt: '0.9', completion: '9', web_search: '9000' } }).rate.webSearch).toBe(
      9_000_000_000n,
    )
  })

  test('are twice the prompt for an hour in the cache, where the cache has a price', () => {
    expect(onWire().listPrice).not.toHaveProperty('cacheWriteHour')
    const list_price = { prompt: '1', completion: '10', cache_write: '1.25' }
    expect(onWire({ list_price }).listPrice.cacheWriteHour).toBe(2_000_000n)
    expect(onWire({ list_price: { ...list_price, cache_write_hour: '3' } }).listPrice.cacheWriteHour).toBe(
      3_000_000n,
    )
  })

  test('exclude an offer from such calls, and from no others, where a use costs more than it earns', () => {
    const [offer] = onWire({}, { cost: { prompt: '0.5', completion: '5', web_search: '10000' } }).offers
    expect(offer).toMatchObject({ shared: true, lossUses: ['webSearch'] })
  })
})

describe('costs and the loss guard', () => {
  test('an unstated cost is the configured share of the list price, never rounded down', () => {
    const { model } = build([DOCUMENT])
    expect(model.offers.map(({ cost }) => formatRate(cost.prompt))).toEqual(['0.90', '0.954'])
    const odd = structuredClone(DOCUMENT)
    odd.models![0]!.list_price = { prompt: '0.000001', completion: '1' }
    expect(build([odd]).model.offers[0]!.cost.prompt).toBe(1n)
  })

  test('an offer dearer than the rate for prompts or for completions is not shared', () => {
    const { model } = build([DOCUMENT])
    expect(formatRate(model.rate.prompt)).toBe('0.95')
    expect(statesOf(model)).toEqual({ maker: 'shared', host: 'loss' })
  })

  test('it is where the operator allows it, or buys cheaper there', () => {
    expect(statesOf(build([DOCUMENT], { allowLossOffers: true }).model)).toEqual({
      maker: 'shared',
      host: 'shared',
    })
    const cheaper = { ...DOCUMENT, providers: [provider('maker'), provider('host', { cost_percent: 80 })] }
    expect(statesOf(build([cheaper]).model)).toEqual({ maker: 'shared', host: 'shared' })
  })

  test('who pays the whole list price sells nothing below it', () => {
    expect(statesOf(build([DOCUMENT], { providerCostPercent: 100 }).model)).toEqual({
      maker: 'loss',
      host: 'loss',
    })
  })

  test('a stated cost is taken as it is', () => {
    const document = structuredClone(DOCUMENT)
    document.models![0]!.offers[1]!.cost = { prompt: '0.95', completion: '9.5' }
    const { model } = build([document], { providerCostPercent: 200 })
    expect(statesOf(model)).toEqual({ maker: 'loss', host: 'shared' })
    expect(model.offers[1]).toMatchObject({ costStated: true })
  })
})

describe('prices of long prompts', () => {
  const withLongPrompts = (completion: string) => {
    const document = structuredClone(DOCUMENT)
    const long = { above_tokens: 200_000, prompt: '1', completion }
    for (const offer of document.models![0]!.offers) offer.long_prompt = long
    return document
  }

  test('end the window where they would be a loss, for the model as well', () => {
    const { model } = build([withLongPrompts('15')])
    expect(model.contextLength).toBe(200_000)
    expect(model.offers[0]).toMatchObject({ contextLength: 200_000, coveredTokens: 200_000 })
  })

  test('do not where they are covered, or losses are allowed', () => {
    expect(build([withLongPrompts('10.5')]).model.contextLength).toBe(1_000_000)
    expect(build([withLongPrompts('15')], { allowLossOffers: true }).model.contextLength).toBe(1_000_000)
  })
})

describe('changes', () => {
  test('edit a rate, an offer and a provider in place', () => {
    const changes = {
      models: [{ id: 'v/m', rate: { prompt: '0.94', completion: '9.4' } }],
      offers: [{ provider: 'host', upstream_model: 'v/m', cost: { prompt: '0.5', completion: '5' } }],
      providers: [{ id: 'maker', cost_percent: 50 }],
    }
    const { model, unknown } = build([DOCUMENT, { changes }])
    expect(unknown).toEqual([])
    expect(formatRate(model.rate.prompt)).toBe('0.94')
    expect(model.offers.map(({ cost }) => formatRate(cost.prompt))).toEqual(['0.50', '0.50'])
    expect(model.contextLength).toBe(1_000_000)
  })

  test.each([
    ['a model', { models: [{ id: 'v/m', disabled: true }] }, []],
    ['an offer', { offers: [{ provider: 'host', upstream_model: 'v/m', disabled: true }] }, ['maker']],
    ['a provider', { providers: [{ id: 'maker', disabled: true }] }, ['host']],
  ])('changes that disable %s withhold its offers from all calls', (_what, changes, left) => {
    const { model, snapshot } = build([DOCUMENT, { changes }])
    expect(model.offers.map((offer) => offer.provider.id)).toEqual(left)
    expect([...snapshot.offers.values()].map((offer) => offer.provider.id)).toEqual(left)
    expect(model.withdrawn!.every(({ reason }) => reason === 'disabled')).toBe(true)
  })

  test('are taken back by a later document', () => {
    const off = { changes: { models: [{ id: 'v/m', disabled: true }] } }
    const on = { changes: { models: [{ id: 'v/m', disabled: false }] } }
    expect(build([DOCUMENT, off, on]).model.offers).toHaveLength(2)
  })

  test('changes of unknown entries are reported and break nothing', () => {
    const changes = { models: [{ id: 'v/gone', disabled: true }], providers: [{ id: 'nobody' }] }
    expect(build([DOCUMENT, { changes }]).unknown).toEqual([
      'document 1: changes.providers: there is no provider "nobody"',
      'document 1: changes.models: there is no model "v/gone"',
    ])
  })
})

test('an offer its provider does not list is kept for operators only', () => {
  const { model } = build([DOCUMENT], { unlisted: new Set(['host/v/m']) })
  expect(model.offers.map((offer) => offer.provider.id)).toEqual(['maker'])
  expect(model.withdrawn).toMatchObject([{ reason: 'unlisted', offer: { id: 'host/v/m' } }])
})

test('a model of the operator’s own document stays without its provider’s list, unless the provider follows it', () => {
  const unlisted = new Set(['host/v/m'])
  const own = build([DOCUMENT], { unlisted }, { isOwn: true }).model
  expect(own.offers.map(({ provider: { id }, ignoresList }) => [id, ignoresList])).toEqual([
    ['maker', true],
    ['host', true],
  ])
  const following = structuredClone(DOCUMENT)
  following.providers!.find(({ id }) => id === 'host')!.follows_list = true
  const { model } = build([following], { unlisted }, { isOwn: true })
  expect(model.withdrawn).toMatchObject([{ reason: 'unlisted', offer: { id: 'host/v/m' } }])
})

test('a chat model whose document does not say takes every parameter', () => {
  const document = structuredClone(DOCUMENT)
  delete document.models![0]!.supported_parameters
  const { model } = build([document])
  const parameters = ['tools', 'tool_choice', 'response_format', 'stop', 'seed', 'logprobs', 'top_p']
  expect(parameters.filter((name) => !supportsParameter(model.offers[0]!, model, name))).toEqual([])
})

test('stand-ins offer every model at a profit, some of them without data retention or with exact tools', () => {
  const simulated = {
    providers: ['alpha', 'beta', 'gamma'].map((id) => provider(id, { zdr: id !== 'gamma' })),
  }
  const isUsable = ({ id }: { id: string }) => id !== 'maker' && id !== 'host'
  const open = structuredClone(DOCUMENT)
  open.models![0]!.open_weights = true
  for (const document of [DOCUMENT, open]) {
    const { model } = build([withStandIns(document), simulated], { isUsable })
    expect(statesOf(model)).toEqual({
      maker: 'no_key',
      host: 'no_key',
      alpha: 'shared',
      beta: 'shared',
      gamma: 'shared',
    })
    expect(new Set(model.offers.slice(2).map((offer) => offer.provider.zdr))).toEqual(new Set([true, false]))
    expect(new Set(model.offers.slice(2).map((offer) => offer.exactTools))).toEqual(new Set([true, false]))
  }
})

test('a model with an offer on another wire has a stand-in on that wire', () => {
  const document = structuredClone(DOCUMENT)
  document.providers![1]!.wire = 'anthropic-messages'
  const added = withStandIns(document).models![0]!.offers.slice(2)
  expect(added.map(({ provider }) => provider)).toEqual(['alpha', 'beta', 'gamma', 'delta'])
  expect(withStandIns(DOCUMENT).models![0]!.offers).toHaveLength(5)
})

test('an offer has the priority of its document, or of the edits over it, or the default', () => {
  const stated = structuredClone(DOCUMENT)
  stated.models![0]!.offers[0]!.priority = 1
  const prioritiesOf = (...documents: CatalogDocument[]) =>
    build(documents).model.offers.map(({ priority }) => priority)
  expect(prioritiesOf(stated)).toEqual([1, 100])
  const edit = { changes: { offers: [{ provider: 'host', upstream_model: 'v/m', priority: 0 }] } }
  expect(prioritiesOf(stated, edit)).toEqual([1, 0])
})
