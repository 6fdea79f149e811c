import { describe, expect, test } from 'vitest'
import {
  boundsFitting,
  chooseAutoModels,
  DEFAULT_BOUNDS,
  tierOf,
} from '../../../src/core/auto/auto-routing.ts'
import { autoTiers } from '../../../src/core/auto/auto-tiers.ts'
import { explainAuto } from '../../../src/core/auto/explain-auto.ts'
import { TIERS } from '../../../src/core/auto/tiers.ts'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import { chatNeeds } from '../../../src/core/calls/kinds/chat.ts'
import { type CatalogSnapshot, compareByPrice, type Model } from '../../../src/core/catalog/catalog.ts'
import { picoUsdPerToken } from '../../../src/core/kernel/money.ts'
import { mediaRules } from '../../../src/core/media/media-rules.ts'

const HARD =
  'Given a directed acyclic graph with weighted edges, design an algorithm that finds, for every vertex, the number of distinct longest paths starting at it; analyze its complexity, then adapt it so that up to k edges may be reversed.'

const PNG = 'data:image/png;base64,AAAA'

/** A model whose prompt and completion tokens both cost this many USD per million. */
function model(id: string, usd: number, more: Partial<Model> = {}): Model {
  const price = picoUsdPerToken(BigInt(Math.round(usd * 1_000_000)))
  const rates = { prompt: price, completion: price }
  return {
    id,
    name: id,
    vendor: id.split('/')[0]!,
    kind: 'chat',
    contextLength: 128_000,
    maxOutputTokens: 8_000,
    inputModalities: ['text'],
    media: mediaRules(id, id.split('/')[0]!),
    supportedParameters: ['tools'],
    reasoning: false,
    openWeights: false,
    listPrice: rates,
    rate: rates,
    rateVersion: id,
    updatedAt: 0,
    auto: true,
    offers: [],
    ...more,
  }
}
const catalogOf = (models: Model[]): CatalogSnapshot =>
  ({
    version: 'v',
    generatedAt: 0,
    models: new Map(models.map((one) => [one.id, one])),
    offers: new Map(),
    autoLadder: models.toSorted(compareByPrice),
  }) as unknown as CatalogSnapshot

const LADDER = [
  model('a/light', 0.1),
  model('b/standard', 0.5),
  model('c/strong', 3),
  model('d/frontier', 15),
]

function choose(
  body: Record<string, unknown>,
  models = LADDER,
  isUsable: (model: Model) => boolean = () => true,
) {
  const request = parseChatRequest({ messages: [{ role: 'user', content: 'hello' }], ...body })
  const needs = chatNeeds(request.content)
  return chooseAutoModels(needs.auto, needs, catalogOf(models), isUsable)
}
const asking = (content: unknown) => ({ messages: [{ role: 'user', content }] })
const ids = (choice: { models: Model[] }) => choice.models.map(({ id }) => id)

describe('auto', () => {
  test('sends an easy prompt to the cheapest tier and a hard one to a dearer', () => {
    expect(ids(choose({}))[0]).toBe('a/light')
    const hard = choose(asking(HARD))
    expect(['strong', 'frontier']).toContain(hard.tier)
    expect(ids(hard)[0]).toBe(hard.tier === 'strong' ? 'c/strong' : 'd/frontier')
  })

  test('moves with the profile: eco never stronger than auto, premium never weaker', () => {
    for (let score = 0; score <= 1; score += 0.01) {
      const place = (profile: 'eco' | 'auto' | 'premium') =>
        TIERS.indexOf(tierOf([score], DEFAULT_BOUNDS[profile]))
      expect(place('eco')).toBeLessThanOrEqual(place('auto'))
      expect(place('premium')).toBeGreaterThanOrEqual(place('auto'))
    }
  })

  test('never goes down a tier as the score rises', () => {
    for (const profile of ['eco', 'auto', 'premium', 'agentic'] as const) {
      const places = Array.from({ length: 101 }, (_, score) =>
        TIERS.indexOf(tierOf([score / 100], DEFAULT_BOUNDS[profile])),
      )
      expect(places).toEqual(places.toSorted((a, b) => a - b))
    }
  })

  test.each([
    [0.05, 0.25],
    [0.4, 0.9],
    [6, 20],
  ])('tells two models apart whatever they cost: %d and %d USD', (cheap, dear) => {
    const models = [model('a/one', cheap), model('b/two', dear)]
    expect(ids(choose({}, models))[0]).toBe('a/one')
    expect(ids(choose(asking(HARD), models))[0]).toBe('b/two')
  })

  test('falls back to the nearest tier, the stronger first', () => {
    expect(ids(choose(asking(HARD), [LADDER[0]!, LADDER[3]!]))).toEqual(['d/frontier', 'a/light'])
    expect(ids(choose({}, LADDER))).toEqual(['a/light', 'b/standard', 'c/strong'])
  })

  test('falls back on another vendor within the tier where there is one', () => {
    const models = [
      model('a/one', 0.1),
      model('a/two', 0.11),
      model('b/three', 0.12),
      model('d/frontier', 15),
    ]
    expect(ids(choose({}, models)).slice(0, 2)).toEqual(['a/one', 'b/three'])
  })

  test('with tools, and for agentic work, takes models that honour tools', () => {
    const models = [
      model('a/plain', 0.1, { supportedParameters: [] }),
      model('b/tools', 0.2),
      model('d/frontier', 15),
    ]
    expect(ids(choose({ tools: [{ type: 'function' }] }, models))).not.toContain('a/plain')
    expect(ids(choose({ routing_profile: 'agentic' }, models))).not.toContain('a/plain')
  })

  test('goes by the shape of agentic work: many tools or many results call for the strongest', () => {
    const tools = Array.from({ length: 20 }, () => ({ type: 'function' }))
    expect(choose({ routing_profile: 'agentic', tools: tools.slice(0, 2) }).tier).toBe('strong')
    expect(choose({ routing_profile: 'agentic', tools }).tier).toBe('frontier')
    const results = Array.from({ length: 9 }, () => ({ role: 'tool', content: 'done', tool_call_id: 'x' }))
    const messages = [{ role: 'user', content: 'go on' }, ...results]
    expect(choose({ routing_profile: 'agentic', messages }).tier).toBe('frontier')
  })

  test('with an image or a long prompt takes models that can take it, whatever the profile', () => {
    const sighted = model('s/sighted', 1, { inputModalities: ['text', 'image'] })
    const image = asking([{ type: 'image_url', image_url: { url: PNG } }])
    expect(ids(choose(image, [...LADDER, sighted]))).toEqual(['s/sighted'])
    const wide = model('w/wide', 1, { contextLength: 1_000_000 })
    expect(ids(choose(asking('word '.repeat(700_000)), [...LADDER, wide]))).toEqual(['w/wide'])
  })

  test('takes only models that the preferences of the request leave', () => {
    expect(ids(choose({}, LADDER, ({ id }) => id === 'd/frontier'))).toEqual(['d/frontier'])
  })

  test('names a model even where none fits, so that the plan can say why not', () => {
    expect(ids(choose(asking([{ type: 'image_url', image_url: { url: PNG } }])))).not.toEqual([])
    expect(ids(choose({}, LADDER, () => false))).toEqual(ids(choose({})))
  })

  test('leaves old and very dear models for requests that no other can take', () => {
    const old = model('o/old', 0.2, { contextLength: 8_000, inputModalities: ['text', 'audio'] })
    const dear = model('p/pro', 90)
    const models = [...LADDER, old, dear]
    for (const body of [{}, asking(HARD), { routing_profile: 'premium' }]) {
      expect(ids(choose(body, models))).not.toContain('o/old')
      expect(ids(choose(body, models))).not.toContain('p/pro')
    }
    expect(
      ids(choose(asking([{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }]), models)),
    ).toEqual(['o/old'])
  })

  test('prefers an established vendor to an obscure one of the same price', () => {
    const usual = Array.from({ length: 10 }, (_, index) => model(`z-usual/${index}`, 0.1))
    expect(ids(choose({}, [model('a-obscure/one', 0.1), ...usual, LADDER[3]!]))[0]).toMatch('z-usual/')
  })

  test('uses the tier that the catalog gives a model, before the models that stand there by price', () => {
    const models = [...LADDER, model('x/chosen', 40, { autoTier: 'light', contextLength: 8_000 })]
    expect(ids(choose({}, models))[0]).toBe('x/chosen')
  })

  test('keeps a conversation on its target while short turns follow', () => {
    const messages: Array<{ role: string; content: string }> = [{ role: 'user', content: HARD }]
    const first = ids(choose({ messages }))
    for (const turn of ['thanks', 'and in French?']) {
      messages.push({ role: 'assistant', content: 'An answer.' }, { role: 'user', content: turn })
      expect(ids(choose({ messages }))).toEqual(first)
    }
  })

  test('does not go to and fro between tiers when scores waver about a bound', () => {
    const wavering = [0.51, 0.49, 0.51, 0.48, 0.5, 0.47]
    const tiers = wavering.map((_, index) => tierOf(wavering.slice(0, index + 1), DEFAULT_BOUNDS.auto))
    expect(new Set(tiers)).toEqual(new Set(['strong']))
    expect(tierOf([...wavering, 0.2], DEFAULT_BOUNDS.auto)).toBe('standard')
  })

  test('goes by the bounds of the catalog where it has some', () => {
    const needs = chatNeeds(parseChatRequest(asking(HARD)).content)
    const catalog = { ...catalogOf(LADDER), autoBounds: { auto: [0.99] } }
    const choose = (one: typeof catalog) => chooseAutoModels(needs.auto, needs, one, () => true)
    expect(choose(catalog).tier).toBe('light')
    expect(choose({ ...catalog, autoBounds: { auto: [0, 0, 0] } }).tier).toBe('frontier')
  })

  test('fits bounds to traffic: the shares of the tiers are the usual ones', () => {
    const scores = Array.from({ length: 1_000 }, (_, index) => (index / 1_000) ** 3)
    const bounds = boundsFitting(scores)
    const count = (tier: string) => scores.filter((score) => tierOf([score], bounds.auto) === tier).length
    expect(count('light')).toBeCloseTo(400, -1)
    expect(count('frontier')).toBeCloseTo(30, -1)
    expect(boundsFitting([])).toEqual(DEFAULT_BOUNDS)
  })

  test('works out the tiers of a catalog once', () => {
    const ladder = LADDER.toSorted(compareByPrice)
    expect(autoTiers(ladder)).toBe(autoTiers(ladder))
    expect(Object.values(autoTiers(ladder).tiers).map((tier) => tier.length)).toEqual([1, 1, 1, 1])
  })

  test('chooses none from an empty catalog', () => {
    expect(ids(choose({}, []))).toEqual([])
  })

  test('explains itself to operators: score, features and what each profile would try', () => {
    const { content } = parseChatRequest(asking(HARD))
    const explained = explainAuto(content, catalogOf(LADDER))
    expect(explained.score).toBe(choose(asking(HARD)).score)
    expect(explained.features).toHaveLength(8)
    expect(explained.profiles.map(({ profile }) => profile)).toEqual(['eco', 'auto', 'premium', 'agentic'])
    expect(explained.profiles[1]!.models).toEqual(ids(choose(asking(HARD))))
  })
})
