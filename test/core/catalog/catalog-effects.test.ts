import { expect, test } from 'vitest'
import { catalogEffects } from '../../../src/core/catalog/catalog-effects.ts'
import type { SnapshotOptions } from '../../../src/core/catalog/catalog-snapshot.ts'
import { builtCatalog } from '../../helpers/built-catalog.ts'

const model = (id: string, providers: string[], more: object = {}) => ({
  id,
  vendor: 'test',
  context_length: 1000,
  list_price: { prompt: '2.00', completion: '4.00' },
  rate: { prompt: '1.00', completion: '2.00' },
  offers: providers.map((provider) => ({
    provider,
    upstream_model: id,
    cost: { prompt: '0.50', completion: '1.00' },
  })),
  ...more,
})

const base = {
  replace: true,
  providers: ['alpha', 'beta', 'keyless'].map((id) => ({
    id,
    base_url: `https://${id}.test/v1`,
    api_key_env: `${id.toUpperCase()}_KEY`,
  })),
  models: [
    model('test/one', ['alpha']),
    model('test/two', ['alpha', 'beta']),
    model('test/none', ['keyless'], { auto: false }),
  ],
}

const snapshot = (edits: object | null, options: Partial<SnapshotOptions> = {}) =>
  builtCatalog([base, ...(edits ? [edits] : [])], { isUsable: ({ id }) => id !== 'keyless', ...options })

const effectsOf = (edits: object, options: Partial<SnapshotOptions> = {}) =>
  catalogEffects(snapshot(null, options), snapshot(edits, options)).map(
    ({ kind, model: id, message }) => `${kind} ${id}: ${message}`,
  )
const change = (kind: string, ...changes: object[]) => ({ changes: { [kind]: changes } })

test('edits that change nothing have no effects', () => {
  expect(effectsOf({})).toEqual([])
  expect(effectsOf(change('models', { id: 'test/none', disabled: true }))).toEqual([])
})

test('a model that loses its last offer goes offline, with the reason', () => {
  const offline = 'offline test/one: test/one will return 503: its only offer'
  expect(effectsOf(change('models', { id: 'test/one', disabled: true }))).toEqual([`${offline} is disabled`])
  expect(
    effectsOf(change('offers', { provider: 'alpha', upstream_model: 'test/one', disabled: true })),
  ).toEqual([`${offline} is disabled`])
  const cheap = { prompt: '0.40', completion: '2.00' }
  expect(effectsOf(change('models', { id: 'test/one', rate: cheap }))).toEqual([
    `${offline} costs more than its price`,
    'loss test/one: alpha receives no calls for test/one: it costs $0.50 / $1.00 and earns $0.40 / $2.00',
    'change test/one: test/one: input $1.00 → $0.40',
  ])
  expect(effectsOf(change('models', { id: 'test/two', rate: cheap }))[0]).toBe(
    'offline test/two: test/two will return 503: all 2 of its offers cost more than its price',
  )
  expect(effectsOf({ ...base, models: [base.models[0]!, base.models[2]!] })).toEqual([
    'offline test/two: test/two will return 404: it is removed from the catalog',
  ])
})

test('a provider that is disabled takes all its models along, and auto with the last', () => {
  const effects = effectsOf(change('providers', { id: 'alpha', disabled: true }))
  expect(effects).toEqual([
    'offline test/one: test/one will return 503: its only offer is disabled',
    'change test/two: alpha receives no calls for test/two',
  ])
  const both = effectsOf(change('providers', { id: 'alpha', disabled: true }, { id: 'beta', disabled: true }))
  expect(both).toContain('offline auto: auto will return 503: no model is left to choose')
  expect(both).toContain('offline test/two: test/two will return 503: all 2 of its offers are disabled')
})

test('the effects of an edit include a loss where losses are allowed', () => {
  const edits = change('models', { id: 'test/one', rate: { prompt: '0.40', completion: '2.00' } })
  expect(effectsOf(edits, { allowLossOffers: true })).toEqual([
    'loss test/one: test/one is sold at a loss at alpha: it costs $0.50 / $1.00 and earns $0.40 / $2.00',
    'change test/one: test/one: input $1.00 → $0.40',
  ])
})

test('the effects of an edit name a price of zero', () => {
  const free = change('models', { id: 'test/one', rate: { prompt: '0', completion: '0' } })
  expect(effectsOf(free)).toContain('free test/one: test/one: input and output will cost nothing')
  const half = change('models', { id: 'test/one', rate: { prompt: '1.00', completion: '0' } })
  expect(effectsOf(half)).toContain('free test/one: test/one: output will cost nothing')
  const paidByUnits = {
    ...model('test/image', ['alpha']),
    ...{ kind: 'image', unit: 'image', image_units: { '/1024x1024': 1 } },
    list_price: { prompt: '0', completion: '0', units: '40000' },
    rate: { prompt: '0', completion: '0', units: '30000' },
  }
  expect(effectsOf({ models: [paidByUnits] }).filter((text) => text.startsWith('free'))).toEqual([])
})

test('the effects of an edit name models that are new or callable again', () => {
  expect(effectsOf({ models: [model('test/new', ['beta'])] })).toEqual([
    'change test/new: test/new is added to the catalog',
    'change test/new: test/new can be called',
  ])
  expect(effectsOf({ models: [model('test/new', ['keyless'])] })).toEqual([
    'offline test/new: test/new will return 503: its only offer has no platform key',
    'change test/new: test/new is added to the catalog',
  ])
  const disabled = snapshot(change('models', { id: 'test/one', disabled: true }))
  expect(catalogEffects(disabled, snapshot(null))).toEqual([
    { kind: 'change', model: 'test/one', message: 'test/one can be called' },
  ])
})
