import { describe, expect, test } from 'vitest'
import { chooseAutoModels } from '../../src/core/auto/auto-routing.ts'
import { parseChatRequest } from '../../src/core/calls/chat-request.ts'
import { chatNeeds } from '../../src/core/calls/kinds/chat.ts'
import type { CatalogSnapshot } from '../../src/core/catalog/catalog.ts'
import type { DocumentModel } from '../../src/core/catalog/catalog-document.ts'
import { builtCatalog } from '../helpers/built-catalog.ts'
import { planOf } from '../helpers/plan-of.ts'

const SMALL = 600
const LARGE = 6_000
/** Planning looks at candidates only; what is left of the catalog's size is a lookup in a larger map. */
const RATIO_MAX = 2
const ROUNDS = 7
const CALLS = 400
const TRIES = 5

/** A catalog of models with three offers each, of forty providers. */
function catalogOf(size: number) {
  const providers = Array.from({ length: 40 }, (_, index) => ({
    id: `p${index}`,
    base_url: `http://p${index}/v1`,
  }))
  const models = Array.from(
    { length: size },
    (_, index): DocumentModel => ({
      id: `v${index % 60}/model-${index}`,
      vendor: `v${index % 60}`,
      context_length: 128_000,
      supported_parameters: ['tools', 'temperature'],
      list_price: { prompt: `${(index % 50) + 1}`, completion: `${(index % 70) + 1}` },
      offers: [0, 1, 2].map((offer) => ({
        provider: `p${(index + offer) % 40}`,
        upstream_model: `m${index}`,
      })),
    }),
  )
  return { providers, models }
}

const snapshotOf = (content: object): CatalogSnapshot => builtCatalog([content])

const request = (fields: object) =>
  parseChatRequest({ messages: [{ role: 'user', content: 'Why do trains need shunting yards?' }], ...fields })

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!

/** Median microseconds of one plan. */
function planTime(catalog: CatalogSnapshot, asked: ReturnType<typeof request>): number {
  const options = { defaultCompletionLimit: 4_096, maxCandidates: 8, byokFeePercent: 5, random: () => 0.5 }
  const round = () => {
    const started = performance.now()
    for (let call = 0; call < CALLS; call++) planOf(asked, 30, catalog, options)
    return ((performance.now() - started) * 1_000) / CALLS
  }
  round()
  return median(Array.from({ length: ROUNDS }, round))
}

test('auto values every model, and checks few of them against the request', () => {
  const needs = chatNeeds(request({ model: 'auto' }).content)
  const checked = [SMALL, LARGE].map((size) => {
    let models = 0
    chooseAutoModels(needs.auto, needs, snapshotOf(catalogOf(size)), () => ++models > 0)
    return models
  })
  expect(checked[0]).toBeLessThan(10)
  expect(checked[1]).toBe(checked[0])
})

describe('the time to plan a call does not grow with the catalog', () => {
  const small = snapshotOf(catalogOf(SMALL))
  const large = snapshotOf(catalogOf(LARGE))

  test.each([
    ['of a named model', { model: 'v5/model-5' }],
    ['of eight models', { models: Array.from({ length: 8 }, (_, index) => `v${index}/model-${index}`) }],
  ])('%s', (_what, fields) => {
    const asked = request(fields)
    const ratios: number[] = []
    // Other work on the machine only ever makes it look worse.
    while (ratios.length < TRIES && !ratios.some((ratio) => ratio < RATIO_MAX)) {
      const [few, many] = [planTime(small, asked), planTime(large, asked)]
      ratios.push(many / few)
      if (process.env.SHOW_TIMES)
        console.log(_what, `${few.toFixed(1)} µs at ${SMALL}, ${many.toFixed(1)} µs at ${LARGE}`)
    }
    expect(Math.min(...ratios)).toBeLessThan(RATIO_MAX)
  })

  test('a snapshot of 6,000 models keeps a processor busy for less than half a second', () => {
    const content = catalogOf(LARGE)
    const build = () => {
      const before = process.cpuUsage()
      snapshotOf(content)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1_000
    }
    const [first, ...again] = Array.from({ length: TRIES }, build)
    if (process.env.SHOW_TIMES)
      console.log(`first ${first!.toFixed(0)} ms, again ${median(again).toFixed(0)} ms`)
    expect(Math.min(...again)).toBeLessThan(500)
  })
})
