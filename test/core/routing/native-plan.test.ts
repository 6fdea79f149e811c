import { expect, test } from 'vitest'
import { type MessagesBody, parseMessagesRequest } from '../../../src/core/calls/messages-request.ts'
import { picoUsdPerToken } from '../../../src/core/kernel/money.ts'
import type { ByokKey } from '../../../src/core/routing/byok.ts'
import { modelNotFound } from '../../../src/core/routing/plan-refusal.ts'
import { planOf } from '../../helpers/plan-of.ts'
import { model, offer, provider, rates, snapshot } from '../../helpers/planned-catalog.ts'

const spoken = provider('spoken', { wire: 'anthropic-messages', apiKeyEnv: 'KEY' })
const other = provider('other')
const rate = { ...rates(1_000_000, 2_000_000), cacheWrite: picoUsdPerToken(1_250_000n) }
const catalog = snapshot([
  model('v/both', [offer(other, 1), offer(spoken, 2)], { rate }),
  model('v/chat', [offer(other, 1, {}, 'chat')]),
  model('v/plain', [offer(other, 1, {}, 'plain'), offer(spoken, 2, {}, 'plain')], {
    supportedParameters: [],
  }),
  model('v/no-tools', [offer(other, 1, {}, 'no-tools')], { supportedParameters: [] }),
  model('v/own', [offer(other, 1, {}, 'own'), offer(spoken, 1, { shared: false }, 'own')]),
])
const OPTIONS = { defaultCompletionLimit: 100, byokFeePercent: 5, maxCandidates: 8, random: () => 0.5 }

const plan = (changes: object, byokKeys: ByokKey[] = [], anyWire = false) => {
  const body = { max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }], ...changes } as MessagesBody
  return planOf(parseMessagesRequest(body, { anyWire }), 10, catalog, { ...OPTIONS, byokKeys })
}
const offers = (...asked: Parameters<typeof plan>) => plan(...asked).candidates.map(({ offerId }) => offerId)
const refused = (code: string) => expect.objectContaining({ code })

test('a native call goes to offers whose provider speaks its wire, and to no others', () => {
  expect(offers({ model: 'v/both' })).toEqual(['spoken/up'])
  expect(offers({ models: ['v/chat', 'v/both'] })).toEqual(['spoken/up'])
  const own: ByokKey = { id: 'pkey_1', providerId: 'spoken', allowFallback: true }
  expect(offers({ model: 'v/own' }, [own])).toEqual(['spoken/own'])
})

test('where any wire may serve, offers of the wire come first, and thinking is no requirement', () => {
  const any = (changes: object) => offers(changes, [], true)
  expect(any({ model: 'v/both' })).toEqual(['spoken/up', 'other/up'])
  expect(any({ model: 'v/both', provider: { sort: 'price' } })).toEqual(['other/up', 'spoken/up'])
  expect(any({ models: ['v/chat', 'v/both'] })).toEqual(['other/chat', 'spoken/up', 'other/up'])
  expect(any({ model: 'v/chat', thinking: { type: 'adaptive' } })).toEqual(['other/chat'])
  const tools = [{ name: 'f', input_schema: { type: 'object' } }]
  expect(any({ model: 'v/plain', tools })).toEqual(['spoken/plain'])
  expect(() => any({ model: 'v/no-tools', tools })).toThrow(refused('unsupported_shape'))
})

test("the maker's own tools go to offers of their wire alone, and a refusal names the tool", () => {
  const any = (model: string, ...types: string[]) =>
    offers({ model, tools: types.map((type) => ({ type, name: 'n' })) }, [], true)
  expect(any('v/both', 'memory_20250818')).toEqual(['spoken/up'])
  expect(() => any('v/chat', 'memory_20250818')).toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      message: expect.stringContaining('`memory_20250818`'),
      details: { param: 'tools' },
    }),
  )
  // Other targets get all tools at once, and need no search.
  expect(any('v/chat', 'tool_search_tool_regex_20251119')).toEqual(['other/chat'])
})

test('a search among tools is held for as often as the provider may count the prompt, at offers of its wire', () => {
  const tools = [{ type: 'tool_search_tool_bm25_20251119', name: 'n' }]
  const { candidates } = plan({ model: 'v/both', tools }, [], true)
  expect(candidates.map(({ offerId, promptTokensBound: bound }) => [offerId, bound])).toEqual([
    ['spoken/up', 11 * 10],
    ['other/up', 10],
  ])
})

test('a native call names models as their developer does, with a date or without', () => {
  for (const name of ['up', 'up-20251101', 'up-latest'])
    expect(offers({ model: name })).toEqual(['spoken/up'])
  expect(() => plan({ model: 'up-2025' })).toThrow(refused('model_not_found'))
})

test('without a usable offer of the wire the surface is not available', () => {
  expect(() => plan({ model: 'v/chat' })).toThrow(refused('surface_unavailable'))
  expect(() => plan({ model: 'v/own' })).toThrow(refused('surface_unavailable'))
  expect(() => plan({ model: 'v/none' })).toThrow(refused('model_not_found'))
  expect(() => plan({ model: 'v/both', provider: { ignore: ['spoken'] } })).toThrow(
    refused('no_provider_available'),
  )
})

test('a model of another kind is not found, and the refusal names its surface', () => {
  const vectors = snapshot([model('vectors', [offer(other, 1)], { kind: 'embeddings' })])
  expect(modelNotFound(['vectors'], [], vectors).message).toBe(
    'Model "vectors" is of kind embeddings: call it by POST /v1/embeddings.',
  )
  expect(modelNotFound(['vectors'], [], vectors, 'speech').message).toContain('POST /v1/embeddings')
})

test('a native call is held at the dearest rate of the prompt cache', () => {
  const { candidates, worstCase } = plan({ model: 'v/both' })
  expect(candidates[0]!.rate.cacheWrite).toBe('1250000')
  expect(worstCase).toBe(10n * 1_250_000n + 10n * 2_000_000n)
})
