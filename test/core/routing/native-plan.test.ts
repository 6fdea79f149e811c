import { describe, expect, test } from 'vitest'
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

test('what a maker signed is named as ignored where the call may go to another', () => {
  const [use, result] = [
    { type: 'tool_use', id: 'a', name: 'f', input: {} },
    { type: 'tool_result', tool_use_id: 'a', content: '1' },
  ]
  const sealed = 'id.20000.c2VhbGVk'
  const ignored = (model: string, maker: string, signature: string) => {
    const thinking = { type: 'thinking', thinking: 'Hm', signature }
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [thinking, use] },
      { role: 'user', content: [result] },
    ]
    const body = { model, max_tokens: 10, messages } as MessagesBody
    const open = (text: string) => (text === sealed ? { text: '', signed: [{ maker, value: 1 }] } : null)
    return planOf(parseMessagesRequest(body, { anyWire: true, open }), 10, catalog, OPTIONS).ignoredParameters
  }
  expect(ignored('v/chat', 'other/chat', sealed)).toBeUndefined()
  expect(ignored('v/chat', 'spoken/up', sealed)).toEqual(['messages.content.signature'])
  expect(ignored('v/both', 'other/up', sealed)).toEqual(['messages.content.signature'])
  expect(ignored('v/chat', '', 'as the maker wrote it')).toEqual(['messages.content.signature'])
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

describe('tools that the provider runs', () => {
  const priced = (quirks: object = {}, more: object = {}) => {
    const at = provider('spoken', { wire: 'anthropic-messages', quirks })
    const uses = { webSearch: picoUsdPerToken(9_000n), codeExecution: picoUsdPerToken(4_000n) }
    return snapshot([
      model('v/m', [offer(at, 1, more), offer(other, 1)], { rate: { ...rates(1, 2), ...uses } }),
    ])
  }
  const planned = (catalogOfIt: ReturnType<typeof priced>, tools: object[], body: object = {}) => {
    const messages = [{ role: 'user', content: 'Hi' }]
    const named = tools.map((tool) => ({ name: 'n', ...tool }))
    const asked = { model: 'v/m', max_tokens: 10, messages, tools: named, ...body } as MessagesBody
    return planOf(parseMessagesRequest(asked, { anyWire: true }), 10, catalogOfIt, OPTIONS)
  }
  const search = { type: 'web_search_20250305' }
  const code = { type: 'code_execution_20250825' }

  test('are held for as a full window and every use at its price', () => {
    const { candidates, worstCase } = planned(priced(), [{ ...search, max_uses: 3 }, code])
    expect(candidates).toMatchObject([
      {
        offerId: 'spoken/up',
        promptTokensBound: 100_000,
        uses: { webSearches: 3, codeExecutions: 1 },
        rate: { prompt: '1', completion: '2', webSearch: '9000', codeExecution: '4000' },
      },
    ])
    expect(worstCase).toBe(100_000n + 10n * 2n + 3n * 9_000n + 4_000n)
  })

  test('have the operator’s limit of searches where the client states none', () => {
    const usesOf = (quirks: object) => planned(priced(quirks), [search]).candidates[0]!.uses
    expect(usesOf({})).toEqual({ webSearches: 10, codeExecutions: 0 })
    expect(usesOf({ maxToolUses: 2 })).toEqual({ webSearches: 2, codeExecutions: 0 })
  })

  test('change no rate of a call without them', () => {
    const { candidates } = planned(priced(), [{ input_schema: {} }])
    expect(candidates[0]).toMatchObject({ rate: { prompt: '1', completion: '2' } })
    expect(candidates[0]).not.toHaveProperty('uses')
    expect(candidates[0]!.rate).not.toHaveProperty('webSearch')
  })

  test.each<[string, object, object]>([
    ['the operator allows none', { maxToolUses: 0 }, {}],
    ['they would be sold at a loss', {}, { lossUses: ['webSearch'] }],
  ])('are refused by name where %s, or left out where the client allows it', (_, quirks, more) => {
    const unsold = priced(quirks, more)
    expect(() => planned(unsold, [search])).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message: expect.stringContaining('`web_search_20250305`'),
      }),
    )
    const { candidates } = planned(unsold, [search], { provider: { require_parameters: false } })
    expect(candidates.map(({ leftOut }) => leftOut)).toEqual([[search.type], [search.type]])
  })
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

test('an hour in the prompt cache is held at its price where a call asks for it, and named where it is left out', () => {
  const hourly = snapshot([
    model('v/m', [offer(spoken, 1), offer(other, 1)], {
      rate: { ...rate, cacheWriteHour: picoUsdPerToken(2_000_000n) },
    }),
  ])
  const planned = (ttl: string) =>
    planOf(
      parseMessagesRequest(
        {
          model: 'v/m',
          max_tokens: 10,
          cache_control: { type: 'ephemeral', ttl },
          messages: [{ role: 'user', content: 'Hi' }],
        } as MessagesBody,
        { anyWire: true },
      ),
      10,
      hourly,
      OPTIONS,
    )
  expect(planned('5m').candidates[0]!.rate).not.toHaveProperty('cacheWriteHour')
  expect(planned('5m').worstCase).toBe(10n * 1_250_000n + 10n * 2_000_000n)
  const { candidates, worstCase } = planned('1h')
  expect(candidates).toMatchObject([{ offerId: 'spoken/up', rate: { cacheWriteHour: '2000000' } }])
  expect(worstCase).toBe(10n * 2_000_000n + 10n * 2_000_000n)
  const without = planOf(
    parseMessagesRequest(
      {
        model: 'v/both',
        max_tokens: 10,
        cache_control: { type: 'ephemeral', ttl: '1h' },
        messages: [{ role: 'user', content: 'Hi' }],
      } as MessagesBody,
      { anyWire: true },
    ),
    10,
    catalog,
    OPTIONS,
  )
  expect(without.ignoredParameters).toEqual(['cache_control.ttl', 'cache_control'])
})

test('a native call is held at the dearest rate of the prompt cache', () => {
  const { candidates, worstCase } = plan({ model: 'v/both' })
  expect(candidates[0]!.rate.cacheWrite).toBe('1250000')
  expect(worstCase).toBe(10n * 1_250_000n + 10n * 2_000_000n)
})
