import { describe, expect, test } from 'vitest'
import { autoLadder } from '../../../src/core/auto/auto-ladder.ts'
import {
  chooseAutoModels,
  DEFAULT_POINT_USD,
  heldScore,
  valueModels,
} from '../../../src/core/auto/auto-routing.ts'
import { explainAuto } from '../../../src/core/auto/explain-auto.ts'
import { fittedPointUsd } from '../../../src/core/auto/fitted-point-usd.ts'
import type { ModelQuality } from '../../../src/core/auto/quality-figure.ts'
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

const quality = (value: number, more: ModelQuality = {}): ModelQuality => {
  const figure = { value, standardError: 0.02, source: 'a benchmark', date: '2026-06-25' }
  return { code: figure, formulas: figure, chat: figure, agentic: figure, other: figure, ...more }
}
const LADDER = [
  model('a/light', 0.1, { quality: quality(0.3) }),
  model('b/standard', 0.5, { quality: quality(0.5) }),
  model('c/strong', 3, { quality: quality(0.75) }),
  model('d/frontier', 15, { quality: quality(0.9) }),
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
  test('sends an easy prompt to a cheap model and a hard one to a better', () => {
    const order = LADDER.map(({ id }) => id)
    const [easy, hard] = [{}, asking(HARD)].map((body) => order.indexOf(ids(choose(body))[0]!)) as [
      number,
      number,
    ]
    expect(hard).toBeGreaterThan(easy)
  })

  test('moves with the profile: eco never better than auto, premium never worse', () => {
    for (const content of ['hello', HARD, 'What is 17 * 23 + 4?']) {
      const place = (routing_profile: string) =>
        LADDER.findIndex(({ id }) => id === ids(choose({ ...asking(content), routing_profile }))[0])
      expect(place('eco')).toBeLessThanOrEqual(place('auto'))
      expect(place('premium')).toBeGreaterThanOrEqual(place('auto'))
    }
  })

  test('weighs quality against cost: a point must cost no more than the profile pays', () => {
    const needs = chatNeeds(parseChatRequest(asking(HARD)).content)
    const catalog = catalogOf(LADDER)
    for (const pointUsd of [0.01, 0.1, 1, 10, 100]) {
      const priced = { ...catalog, autoPointUsd: { auto: pointUsd } }
      const { qualityAt, usdPer1000At } = valueModels(needs.auto, priced)
      const chosen = chooseAutoModels(needs.auto, needs, priced, () => true).models[0]!
      const own = catalog.autoLadder.indexOf(chosen)
      for (let other = 0; other < LADDER.length; other++) {
        const points = 100 * (qualityAt(other) - qualityAt(own))
        expect(usdPer1000At(other) - usdPer1000At(own)).toBeGreaterThanOrEqual(points * pointUsd - 1e-9)
      }
    }
  })

  test('never takes a dearer model of lower quality', () => {
    const models = [
      model('a/good', 1, { quality: quality(0.8) }),
      model('b/bad', 4, { quality: quality(0.6) }),
    ]
    for (const routing_profile of ['eco', 'auto', 'premium', 'agentic'])
      for (const content of ['hello', HARD])
        expect(ids(choose({ ...asking(content), routing_profile }, models))[0]).toBe('a/good')
  })

  test('knows which model is good at which kind of task', () => {
    const good = { value: 0.9, standardError: 0.02, source: 'a benchmark', date: '2026-06-25' }
    const coder = model('a/coder', 1, { quality: quality(0.5, { code: good }) })
    const counter = model('b/counter', 1, { quality: quality(0.5, { formulas: good }) })
    const models = [coder, counter]
    const code = asking('Write a Python function that merges two sorted lists into one array.')
    expect(choose(code, models).kind).toBe('code')
    expect(ids(choose(code, models))[0]).toBe('a/coder')
    const sums = asking('A train leaves at 60 km/h, another 300 km away at 40 km/h. When do they meet?')
    expect(choose(sums, models).kind).toBe('word_problems')
    expect(ids(choose(sums, models))[0]).toBe('b/counter')
  })

  describe('a conversation of a long text and a short question, whose models are good at different kinds', () => {
    const good = { value: 0.9, standardError: 0.02, source: 'a benchmark', date: '2026-06-25' }
    const price = picoUsdPerToken(1_000_000n)
    const cached = (usd: number) => ({
      prompt: price,
      completion: price,
      cacheRead: picoUsdPerToken(BigInt(usd * 1_000_000)),
    })
    const modelsAt = (cachedUsd: number) => [
      model('a/coder', 1, { quality: quality(0.6, { code: good }), rate: cached(cachedUsd) }),
      model('b/counter', 1, { quality: quality(0.6, { formulas: good }), rate: cached(cachedUsd) }),
    ]
    const conversation = (words: number) => [
      { role: 'user', content: `Explain this code:\n\`\`\`js\n${'let a = b;\n'.repeat(words)}\`\`\`` },
      { role: 'assistant', content: 'It assigns.' },
      {
        role: 'user',
        content: 'A train leaves at 60 km/h, another 300 km away at 40 km/h. When do they meet?',
      },
    ]
    const choiceOf = (messages: unknown[], models: Model[], pricesCache = true, pointUsd = 1) => {
      const needs = chatNeeds(parseChatRequest({ messages }).content)
      const catalog = { ...catalogOf(models), autoPointUsd: { auto: pointUsd } }
      return chooseAutoModels(needs.auto, { ...needs, pricesCache }, catalog, () => true)
    }

    test('stays while the cached input saves more than leaving gains, and leaves when it does not', () => {
      const messages = conversation(3_000)
      expect(ids(choiceOf(messages.slice(0, 1), modelsAt(0.1)))[0]).toBe('a/coder')
      const choice = choiceOf(messages, modelsAt(0.1))
      expect(ids(choice)).toEqual(['a/coder', 'b/counter'])
      const { stay } = choice
      expect(stay!.stays).toBe(true)
      expect(stay!.gainedPoints).toBeGreaterThan(0)
      // 8,000 tokens at 0.9 USD per million less.
      expect(stay!.savedUsdPer1000).toBeCloseTo(1_000 * 8_257 * 0.9e-6, 1)
      expect(stay!.savedPoints).toBeCloseTo(stay!.savedUsdPer1000)
      // A dearer point: quality weighs more than the saving.
      expect(ids(choiceOf(messages, modelsAt(0.1), true, 60))[0]).toBe('b/counter')
      // A cache that is hardly cheaper, a prompt too short to be cached, and a surface without prices of the cache.
      expect(ids(choiceOf(messages, modelsAt(0.99)))[0]).toBe('b/counter')
      expect(ids(choiceOf(conversation(300), modelsAt(0.01)))[0]).toBe('b/counter')
      expect(ids(choiceOf(messages, modelsAt(0.1), false))[0]).toBe('b/counter')
    })

    test('stays through the calls of tools, and on another model once it has left', () => {
      const models = modelsAt(0.1)
      const [code, , formula] = conversation(3_000)
      const call = (id: string) => [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id, type: 'function', function: { name: 'run', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: id, content: 'result '.repeat(2_000) },
      ]
      const working = [code, ...call('1'), ...call('2')]
      expect(ids(choiceOf(working, models))[0]).toBe('a/coder')
      const left = [code, { role: 'assistant', content: 'It assigns.' }, formula, ...call('3'), ...call('4')]
      expect(ids(choiceOf(left, models, true, 60))[0]).toBe('b/counter')
      expect(choiceOf(left, models, true, 60).stay).toMatchObject({ stays: true, gainedPoints: 0 })
    })

    test('goes to a model that can take the request where its own cannot', () => {
      const [coder, counter] = modelsAt(0.1)
      const choice = chooseAutoModels(
        chatNeeds(parseChatRequest({ messages: conversation(3_000) }).content).auto,
        { ...chatNeeds(parseChatRequest({ messages: conversation(3_000) }).content), pricesCache: true },
        catalogOf([coder!, counter!]),
        ({ id }) => id !== 'a/coder',
      )
      expect(ids(choice)).toEqual(['b/counter'])
    })

    test('is explained with figures', () => {
      const { content } = parseChatRequest({ messages: conversation(3_000) })
      const [, auto] = explainAuto(content, catalogOf(modelsAt(0.1))).profiles
      expect(auto!.stay).toMatchObject({ model: 'a/coder', best: 'b/counter', stays: true })
      expect(auto!.models[0]).toBe('a/coder')
    })
  })

  test('falls back on models of other vendors, best value first', () => {
    const models = [
      model('a/one', 0.1, { quality: quality(0.7) }),
      model('a/two', 0.11, { quality: quality(0.69) }),
      model('b/three', 0.12, { quality: quality(0.68) }),
      model('d/frontier', 15, { quality: quality(0.7) }),
    ]
    expect(ids(choose({}, models))).toEqual(['a/one', 'b/three', 'd/frontier'])
    expect(ids(choose({}, models.slice(0, 2)))).toEqual(['a/one', 'a/two'])
  })

  test('with tools, and for agentic work, takes models that honour tools', () => {
    const models = [
      model('a/plain', 0.1, { supportedParameters: [], quality: quality(0.9) }),
      model('b/tools', 0.2),
      model('d/frontier', 15),
    ]
    expect(ids(choose({ tools: [{ type: 'function' }] }, models))).not.toContain('a/plain')
    expect(ids(choose({ routing_profile: 'agentic' }, models))).not.toContain('a/plain')
  })

  test('for agentic work goes by agentic figures, and by offers with exact tools where there are some', () => {
    const good = { value: 0.6, standardError: 0.02, source: 'a benchmark', date: '2026-06-25' }
    const agent = model('a/agent', 1, { quality: quality(0.2, { agentic: good }) })
    const writer = model('b/writer', 1, { quality: quality(0.9, { agentic: { ...good, value: 0.1 } }) })
    const agentic = { ...asking('Go on.'), routing_profile: 'agentic' }
    expect(ids(choose(agentic, [agent, writer]))[0]).toBe('a/agent')
    expect(choose(agentic, [agent, writer]).exactTools).toBe(false)
    const exact = { ...writer, offers: [{ shared: true, exactTools: true }] as unknown as Model['offers'] }
    expect(choose(agentic, [agent, exact])).toMatchObject({ exactTools: true, models: [{ id: 'b/writer' }] })
    expect(choose(asking('Go on.'), [agent, exact]).exactTools).toBe(false)
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

  test('leaves copies, previews and special models without figures for requests that no other can take', () => {
    const models = [
      model('x/m-1', 1, { quality: quality(0.7) }),
      model('x/m-1-preview', 0.1),
      model('x/m-1-law', 0.1, { inputModalities: ['text', 'image'] }),
    ]
    expect(ids(choose({}, models))).toEqual(['x/m-1'])
    expect(ids(choose(asking([{ type: 'image_url', image_url: { url: PNG } }]), models))).toEqual([
      'x/m-1-law',
    ])
  })

  test('keeps a conversation on its target while short turns follow', () => {
    const messages: Array<{ role: string; content: string }> = [{ role: 'user', content: HARD }]
    const first = ids(choose({ messages }))
    for (const turn of ['thanks', 'and in French?']) {
      messages.push({ role: 'assistant', content: 'An answer.' }, { role: 'user', content: turn })
      expect(ids(choose({ messages }))).toEqual(first)
    }
  })

  test('holds a score that wavers, rises at once, and falls only when well below', () => {
    expect(heldScore([0.51, 0.49, 0.51, 0.48, 0.5, 0.47])).toBe(0.51)
    expect(heldScore([0.2, 0.9])).toBe(0.9)
    expect(heldScore([0.9, 0.2])).toBeCloseTo(0.35)
  })

  test('fits prices of a point to traffic: each profile spends its share of what the best costs', () => {
    const traffic = ['hello', HARD, 'What is 17 * 23 + 4?', 'Explain entropy.', 'Write a poem.'].map(
      (content) => parseChatRequest(asking(content)).content,
    )
    const catalog = catalogOf(LADDER)
    const fitted = fittedPointUsd(traffic, catalog)
    expect(fitted.eco).toBeLessThan(fitted.auto)
    expect(fitted.auto).toBeLessThan(fitted.premium)
    expect(fittedPointUsd([], catalog)).toEqual(DEFAULT_POINT_USD)
  })

  test('works out the models of a catalog once', () => {
    const ladder = LADDER.toSorted(compareByPrice)
    expect(autoLadder(ladder)).toBe(autoLadder(ladder))
  })

  test('chooses none from an empty catalog', () => {
    expect(ids(choose({}, []))).toEqual([])
  })

  test('explains which models of more value are not tried, and why', () => {
    const models = [
      model('x/sun-2', 1, { quality: quality(0.7) }),
      model('x/sun-3-preview', 0.1),
      model('y/unknown', 0.01, { reasoning: true }),
      model('z/blind', 0.1, { quality: quality(0.8), inputModalities: ['text'] }),
    ]
    const sighted = models.map((one) =>
      one.id === 'z/blind' ? one : { ...one, inputModalities: ['text', 'image'] },
    )
    const { content } = parseChatRequest(asking([{ type: 'image_url', image_url: { url: PNG } }]))
    const [, auto] = explainAuto(content, catalogOf(sighted)).profiles
    expect(auto!.models[0]).toBe('x/sun-2')
    expect(Object.fromEntries(auto!.excluded.map((one) => [one.model, one.reason]))).toMatchObject({
      'z/blind': 'cannot take the request',
    })
    for (const { tokens } of [...auto!.candidates, ...auto!.excluded]) expect(tokens).toBeGreaterThan(0)
    const successor = model('x/sun-3', 0.5)
    const replaced = explainAuto(
      parseChatRequest(asking('hello')).content,
      catalogOf([models[0]!, successor]),
    )
    expect(replaced.profiles[1]!.models).toEqual(['x/sun-3'])
  })

  test('explains itself to operators: kind, score, features, and what each profile would try with its value', () => {
    const { content } = parseChatRequest(asking(HARD))
    const explained = explainAuto(content, catalogOf(LADDER))
    expect(explained).toMatchObject({ score: choose(asking(HARD)).score, kind: 'other' })
    expect(explained.features).toHaveLength(8)
    expect(explained.profiles.map(({ profile }) => profile)).toEqual(['eco', 'auto', 'premium', 'agentic'])
    for (const { profile, pointUsd, models, candidates } of explained.profiles) {
      expect(pointUsd).toBe(DEFAULT_POINT_USD[profile])
      expect(models).toEqual(ids(choose({ ...asking(HARD), routing_profile: profile })))
      expect(candidates.map(({ model }) => model)).toEqual(models)
      for (const { quality, usdPer1000, value, basis } of candidates) {
        expect(value).toBeCloseTo(100 * quality - usdPer1000 / pointUsd)
        expect(basis).toBe('measured')
      }
    }
  })
})
