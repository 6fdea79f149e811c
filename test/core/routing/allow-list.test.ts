import { expect, test } from 'vitest'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import { readAllowList } from '../../../src/core/routing/allow-list.ts'
import type { ByokKey } from '../../../src/core/routing/byok.ts'
import { planOf } from '../../helpers/plan-of.ts'
import { model, offer, provider, rates, snapshot } from '../../helpers/planned-catalog.ts'

const [a, b] = [provider('a', { apiKeyEnv: 'KEY' }), provider('b')]
const catalog = snapshot([
  model('acme/one', [offer(a, 1, {}, 'one'), offer(b, 2, {}, 'one')], { vendor: 'acme' }),
  model('acme/two', [offer(a, 1, {}, 'two')], { vendor: 'acme', rate: rates(500_000, 500_000) }),
  model('gpt-x', [offer(b, 1, {}, 'x')], { vendor: 'openai', auto: false }),
])
const OPTIONS = { defaultCompletionLimit: 100, byokFeePercent: 5, maxCandidates: 8, random: () => 0.5 }

const plan = (
  asked: object,
  { models = [], providers = [] }: { models?: string[]; providers?: string[] },
  byokKeys: ByokKey[] = [],
) => {
  const request = parseChatRequest({ messages: [{ role: 'user', content: 'Hi' }], ...asked })
  const allowList = readAllowList(models, providers)
  return planOf(request, 10, catalog, { ...OPTIONS, byokKeys, allowList })
}
const offers = (...asked: Parameters<typeof plan>) => plan(...asked).candidates.map(({ offerId }) => offerId)
const refused = (code: string, message: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(message) })

test('a key without entries has nothing to check', () => {
  expect(readAllowList([], [])).toBeUndefined()
})

test('a model that is not allowed is refused by its name, whatever alias and suffix it is asked by', () => {
  for (const name of ['gpt-x', 'openai/gpt-x', 'gpt-x:nitro']) {
    expect(() => plan({ model: name }, { models: ['acme/one'] })).toThrow(
      refused('not_permitted', `may not use "${name}"`),
    )
    expect(offers({ model: name }, { models: ['gpt-x'] })).toEqual(['b/x'])
    expect(offers({ model: name }, { models: ['openai/*'] })).toEqual(['b/x'])
  }
  // What does not exist is not said to be forbidden.
  expect(() => plan({ model: 'none' }, { models: ['gpt-x'] })).toThrow(refused('model_not_found', 'none'))
})

test('of several models those that are allowed are tried, and none else', () => {
  const asked = { models: ['gpt-x', 'acme/two', 'acme/one'] }
  expect(offers(asked, { models: ['acme/two'] })).toEqual(['a/two'])
  expect(new Set(offers(asked, { models: ['acme/*'] }))).toEqual(new Set(['a/two', 'a/one', 'b/one']))
  const both = { models: ['gpt-x', 'acme/two'] }
  expect(() => plan(both, { models: ['acme/one'] })).toThrow(refused('not_permitted', '"gpt-x", "acme/two"'))
})

test('auto chooses among the allowed models', () => {
  const modelsOf = (list: string[]) =>
    new Set(plan({ model: 'auto' }, { models: list }).candidates.map(({ modelId }) => modelId))
  expect(modelsOf([])).toEqual(new Set(['acme/one', 'acme/two']))
  expect(modelsOf(['acme/one'])).toEqual(new Set(['acme/one']))
  expect(() => plan({ model: 'auto' }, { models: ['gpt-x'] })).toThrow(refused('not_permitted', '"auto"'))
  // Also where nothing takes the request: what is not allowed may not stand in for it.
  expect(() => plan({ model: 'auto', provider: { only: ['none'] } }, { models: ['acme/one'] })).toThrow(
    refused('no_provider_available', 'preferences'),
  )
})

test('providers that are not allowed are in no plan, whichever key is used', () => {
  expect(offers({ model: 'acme/one' }, { providers: ['b'] })).toEqual(['b/one'])
  const own: ByokKey = { id: 'pkey_1', providerId: 'a', allowFallback: true }
  expect(offers({ model: 'acme/one' }, { providers: ['b'] }, [own])).toEqual(['b/one'])
  const preferring = { model: 'acme/one', provider: { order: ['a'], only: ['a', 'b'] } }
  expect(offers(preferring, { providers: ['b'] })).toEqual(['b/one'])
  expect(() => plan({ model: 'acme/two' }, { providers: ['b'] })).toThrow(
    refused('not_permitted', 'providers that this API key may use'),
  )
  expect(offers({ models: ['acme/two', 'acme/one'] }, { providers: ['b'] })).toEqual(['b/one'])
  expect(() => plan({ model: 'acme/one', provider: { ignore: ['b'] } }, { providers: ['b'] })).toThrow(
    refused('no_provider_available', 'preferences'),
  )
})
