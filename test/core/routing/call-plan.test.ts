import { describe, expect, test } from 'vitest'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import { normalizeExtendedRequest } from '../../../src/core/calls/extended-request.ts'
import { ApiError } from '../../../src/core/kernel/errors.ts'
import { planOf } from '../../helpers/plan-of.ts'
import { offer, model as plainModel, provider, rates, snapshot } from '../../helpers/planned-catalog.ts'

const model: typeof plainModel = (id, offers, more) =>
  plainModel(id, offers, { contextLength: 1_000, ...more })
const a = provider('a', { zdr: true, dataCollection: 'deny' })
const b = provider('b')
const c = provider('c')
const catalog = snapshot([
  model('x', [offer(a, 30), offer(b, 10), offer(c, 20, { exactTools: true })]),
  model('gpt-y', [offer(b, 5)], { rate: rates(3_000_000, 3_000_000) }),
  model('z:3b', [offer(c, 1)], { auto: false }),
])
const OPTIONS = { defaultCompletionLimit: 100, byokFeePercent: 5, maxCandidates: 8, random: () => 0.5 }

function plan(body: Record<string, unknown>, promptTokens = 10, random = OPTIONS.random) {
  const request = parseChatRequest({ messages: [{ role: 'user', content: 'Hi' }], ...body })
  return planOf(request, promptTokens, catalog, { ...OPTIONS, random })
}
const offers = (body: Record<string, unknown>) => plan(body).candidates.map((candidate) => candidate.offerId)
function refusal(body: Record<string, unknown>) {
  try {
    plan(body)
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code, shouldRetry: error.details.shouldRetry }
    throw error
  }
  throw new Error('a plan was made')
}

describe('a routing plan', () => {
  test('echoes what was asked, suffix and alias and all', () => {
    const asked = (name: string) =>
      plan({ model: name }).candidates.map((candidate) => candidate.requestedModel)
    expect(new Set(asked('x:floor'))).toEqual(new Set(['x:floor']))
    expect(asked('openai/gpt-y')).toEqual(['openai/gpt-y'])
    expect(refusal({ model: 'openai/openai/gpt-y' }).code).toBe('model_not_found')
    expect(new Set(asked('auto'))).toEqual(new Set(['auto']))
  })

  test('an alias tries its models in order, before a model of the same name, and echoes what was asked', () => {
    const models = ['x', 'gpt-y'].map((id) => catalog.models.get(id)!)
    const aliases = new Map([
      ['ours', models],
      ['x', [models[1]!]],
    ])
    const planned = (asked: string) =>
      planOf(
        parseChatRequest({ model: asked, messages: [{ role: 'user', content: 'Hi' }] }),
        10,
        { ...catalog, aliases },
        OPTIONS,
      ).candidates.map(({ requestedModel, modelId }) => `${requestedModel} ${modelId}`)
    expect([...new Set(planned('ours'))]).toEqual(['ours x', 'ours gpt-y'])
    expect([...new Set(planned('ours:floor'))]).toEqual(['ours:floor x', 'ours:floor gpt-y'])
    expect(planned('x')).toEqual(['x gpt-y'])
  })

  test('holds as many tokens as the wire makes at least', () => {
    const wired = provider('w', { wire: 'responses' })
    const { candidates } = planOf(
      parseChatRequest({ model: 'x', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 3 }),
      10,
      snapshot([model('x', [offer(a, 30), offer(wired, 10)])]),
      OPTIONS,
    )
    const limits = Object.fromEntries(candidates.map((each) => [each.offerId, each.completionLimit]))
    expect(limits).toEqual({ 'a/up': 3, 'w/up': 16 })
  })

  test('names the parameter that no usable offer honours, whatever one without a key would', () => {
    const native = provider('n', { wire: 'anthropic-messages' })
    const withNative = (shared: boolean) =>
      snapshot([model('x', [offer(a, 30), offer(native, 10, { shared })])])
    const body = { model: 'x', messages: [{ role: 'user', content: 'Hi' }], stop: ['x'] }
    const planned = (shared: boolean) =>
      planOf(normalizeExtendedRequest(body), 10, withNative(shared), OPTIONS).candidates
    expect(planned(true).map(({ offerId }) => offerId)).toEqual(['n/up'])
    expect(() => planned(false)).toThrow(
      expect.objectContaining({
        code: 'unsupported_shape',
        details: expect.objectContaining({ param: 'stop' }),
      }),
    )
  })

  test('a routing plan has the privacy requirements that workers check again', () => {
    const privacyOf = (preferences: object) =>
      plan({ model: 'x', provider: preferences }).candidates.map(({ privacy }) => privacy)
    expect(privacyOf({})).toEqual([undefined, undefined, undefined])
    expect(privacyOf({ zdr: true })).toEqual([{ zdr: true, denyDataCollection: false }])
    expect(privacyOf({ data_collection: 'deny' })).toEqual([{ zdr: false, denyDataCollection: true }])
  })

  test('a routing plan names the model that no provider serves', () => {
    const unserved = snapshot([model('u', [offer(a, 1, { shared: false })])])
    const request = parseChatRequest({ messages: [{ role: 'user', content: 'Hi' }], model: 'u' })
    expect(() => planOf(request, 10, unserved, OPTIONS)).toThrow('No provider is available for this model')
  })

  test('knows models whose own id holds a colon', () => {
    expect(offers({ model: 'z:3b' })).toEqual(['c/up'])
  })

  test('refuses unknown models and suffixes, and skips an unknown entry beside a known one', () => {
    expect(refusal({ model: 'nope' }).code).toBe('model_not_found')
    for (const suffix of ['fast', 'floor:nitro', ''])
      expect(refusal({ model: `x:${suffix}` }).code).toBe('model_not_found')
    expect(offers({ models: ['nope', 'gpt-y'] })).toEqual(['b/up'])
  })

  test('a routing plan suggests near names for an unknown one', () => {
    expect(() => plan({ model: 'x:fast' })).toThrow(/suffixes of a model are :nitro, :floor, :exacto\./)
    expect(() => plan({ model: 'GPT_Y' })).toThrow(/Did you mean gpt-y\?/)
    expect(() => plan({ model: 'gpty:floor' })).toThrow(/Did you mean gpt-y\?/)
    expect(() => plan({ model: 'nope' })).toThrow(
      /^Model "nope" not found\. GET \/pricing\.json lists every id\.$/,
    )
  })

  test('tries the entries of models in order', () => {
    const served = plan({ models: ['gpt-y', 'x'] }).candidates.map((candidate) => candidate.modelId)
    expect(served).toEqual(['gpt-y', 'x', 'x', 'x'])
  })

  test('sorts by price for :floor and sort, after the order of the request, whatever the balance would draw', () => {
    for (const drawn of [0, 0.2, 0.4, 0.6, 0.8, 0.99]) {
      const sorted = (body: object) =>
        plan({ model: 'x', ...body }, 10, () => drawn).candidates.map(({ offerId }) => offerId)
      expect(sorted({ model: 'x:floor' })).toEqual(['b/up', 'c/up', 'a/up'])
      expect(sorted({ provider: { sort: 'price' } })).toEqual(['b/up', 'c/up', 'a/up'])
      expect(sorted({ provider: { sort: 'price', order: ['a'] } })).toEqual(['a/up', 'b/up', 'c/up'])
      expect(sorted({ model: 'x:floor', provider: { order: ['a'] } })).toEqual(['a/up', 'b/up', 'c/up'])
    }
  })

  test('balances by the inverse square of the price', () => {
    let seed = 1
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed / 2_147_483_647
    }
    const request = parseChatRequest({ messages: [{ role: 'user', content: 'Hi' }], model: 'x' })
    const first: Record<string, number> = {}
    const draws = 20_000
    for (let draw = 0; draw < draws; draw++) {
      const [winner] = planOf(request, 10, catalog, { ...OPTIONS, random }).candidates
      first[winner!.offerId] = (first[winner!.offerId] ?? 0) + 1
    }
    const weight = (price: number) => 1 / (price * 4 + 1) ** 2
    const total = weight(10) + weight(20) + weight(30)
    expect(first['b/up']! / draws).toBeCloseTo(weight(10) / total, 1)
    expect(first['a/up']! / draws).toBeCloseTo(weight(30) / total, 1)
  })

  test('obeys order, only, ignore and allow_fallbacks', () => {
    expect(offers({ model: 'x', provider: { order: ['c', 'nobody', 'a'] } })).toEqual([
      'c/up',
      'a/up',
      'b/up',
    ])
    expect(offers({ model: 'x', provider: { order: ['c', 'a'], allow_fallbacks: false } })).toEqual([
      'c/up',
      'a/up',
    ])
    expect(offers({ model: 'x', provider: { sort: 'price', allow_fallbacks: false } })).toEqual(['b/up'])
    expect(offers({ model: 'x', provider: { only: ['A'] } })).toEqual(['a/up'])
    expect(offers({ model: 'x', provider: { ignore: ['a', 'nobody'], sort: 'price' } })).toEqual([
      'b/up',
      'c/up',
    ])
  })

  test('fails closed on zdr, data_collection, only, exacto and price caps', () => {
    expect(offers({ model: 'x', provider: { zdr: true } })).toEqual(['a/up'])
    expect(offers({ model: 'x', provider: { data_collection: 'deny' } })).toEqual(['a/up'])
    expect(offers({ model: 'x:exacto' })).toEqual(['c/up'])
    const within = { models: ['gpt-y', 'x:floor'], provider: { max_price: { completion: '2' } } }
    expect(offers(within)).toEqual(['b/up', 'c/up', 'a/up'])
    expect(plan(within).candidates[0]!.modelId).toBe('x')
    for (const body of [
      { model: 'gpt-y', provider: { zdr: true } },
      { model: 'gpt-y', provider: { only: ['nobody'] } },
      { model: 'gpt-y', provider: { only: [] } },
      { model: 'gpt-y:exacto' },
      { model: 'gpt-y', provider: { order: ['nobody'], allow_fallbacks: false } },
      { model: 'gpt-y', provider: { order: ['b'], zdr: true, allow_fallbacks: false } },
      { model: 'gpt-y', provider: { max_price: { prompt: '2.999999' } } },
      { model: 'gpt-y', provider: { max_price: { completion: 2.99 } } },
      { model: 'gpt-y', provider: { max_price: { request: '0.000032' } } },
    ]) {
      expect(refusal(body)).toEqual({ code: 'no_provider_available', shouldRetry: false })
    }
  })

  test('requires parameters only when asked to', () => {
    expect(offers({ model: 'gpt-y', temperature: 1 })).toEqual(['b/up'])
    expect(refusal({ model: 'gpt-y', temperature: 1, provider: { require_parameters: true } }).code).toBe(
      'no_provider_available',
    )
  })

  test('refuses a shape no eligible model takes', () => {
    const messages = [
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
    ]
    expect(refusal({ model: 'x', messages }).code).toBe('unsupported_shape')
  })

  test('leaves out offers that take no prompts with such content, for as long as others are left', () => {
    const request = parseChatRequest({ model: 'x', messages: [{ role: 'user', content: 'Hi' }] })
    const planned = (excluded: string[], kinds: string) =>
      planOf(request, 10, catalog, {
        ...OPTIONS,
        offerState: (offerId) => ({
          health: 'ready',
          excludes: (asked) => asked === kinds && excluded.includes(offerId),
        }),
      }).candidates.map(({ offerId }) => offerId)
    expect(planned(['b/up'], 'text').toSorted()).toEqual(['a/up', 'c/up'])
    expect(planned(['b/up'], 'image+text')).toContain('b/up')
    expect(() => planned(['a/up', 'b/up', 'c/up'], 'text')).toThrow(
      expect.objectContaining({ code: 'no_provider_available' }),
    )
  })

  test('refuses what exceeds every context window', () => {
    const messages = [{ role: 'user', content: 'x'.repeat(16_000) }]
    expect(refusal({ model: 'x', messages }).code).toBe('context_length_exceeded')
  })

  test('limits the answer to what the prompt leaves of the window', () => {
    const limitOf = (promptTokens: number, maxTokens: number) =>
      plan({ model: 'gpt-y', max_tokens: maxTokens }, promptTokens).candidates[0]!.completionLimit
    expect(limitOf(400, 500)).toBe(500)
    expect(limitOf(700, 500)).toBe(300)
    // The bound is up to twice the prompt, so the worker counts what is left.
    expect(limitOf(900, 500)).toBe(500)
    expect(limitOf(5_000, 500)).toBe(500)
  })

  test('counts a prompt towards the rate limit by its bound, and at most by the largest window', () => {
    expect(plan({ model: 'gpt-y' }, 900).promptTokens).toBe(900)
    const { promptTokens, candidates } = plan({ models: ['x', 'gpt-y'] }, 5_000_000)
    expect(promptTokens).toBe(Math.max(...candidates.map(({ contextLength }) => contextLength)))
  })

  test('bounds the cost at the dearest candidate', () => {
    const { worstCase, completionLimit, dearestPrompt, dearestCompletionRate } = plan({
      models: ['x', 'gpt-y'],
      max_tokens: 50,
    })
    expect(worstCase).toBe(10n * 3_000_000n + 50n * 3_000_000n)
    expect({ completionLimit, dearestPrompt, dearestCompletionRate }).toEqual({
      completionLimit: 50,
      dearestPrompt: 30_000_000n,
      dearestCompletionRate: 3_000_000n,
    })
  })

  test('never holds more than the cap of the whole call, by shortening the limit that is sent upstream', () => {
    const { worstCase, candidates } = plan({
      model: 'gpt-y',
      max_tokens: 400,
      provider: { max_price: { request: '0.000045' } },
    })
    expect(candidates[0]?.completionLimit).toBe(5)
    expect(worstCase).toBe(45_000_000n)
  })

  test("keeps within the model's own output limit", () => {
    expect(plan({ model: 'x', max_tokens: 10_000 }).completionLimit).toBe(500)
  })
})
