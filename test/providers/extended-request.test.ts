import { describe, expect, test } from 'vitest'
import type { ChatMessage, SamplingParameters } from '../../src/core/calls/chat-request.ts'
import { parseExtendedRequest } from '../../src/core/calls/extended-request.ts'
import type { ProviderQuirks } from '../../src/core/catalog/catalog.ts'
import * as chat from '../../src/providers/chat-completions.ts'
import * as converse from '../../src/providers/chat-to-converse.ts'
import * as google from '../../src/providers/chat-to-google.ts'
import * as anthropic from '../../src/providers/chat-to-messages.ts'
import * as responses from '../../src/providers/chat-to-responses.ts'
import type { ChatAttempt } from '../../src/providers/wire.ts'
import { offerAt } from '../helpers/scripted-provider.ts'

interface Changes {
  messages?: ChatMessage[]
  parameters?: SamplingParameters
  quirks?: ProviderQuirks
  model?: string
  completionLimit?: number
  cachesPrompt?: true
}

function attempt({
  messages,
  parameters = {},
  quirks,
  model,
  completionLimit = 64,
  cachesPrompt,
}: Changes): ChatAttempt {
  const offer = offerAt('https://api.example/v1', model === undefined ? {} : { upstreamModel: model })
  return {
    offer: { ...offer, provider: { ...offer.provider, ...(quirks && { quirks }) } },
    messages: messages ?? [{ role: 'user', content: 'Hi' }],
    parameters,
    extended: true,
    ...(cachesPrompt && { cachesPrompt }),
    accountId: 'acct_1',
    completionLimit,
    limits: { firstTokenMs: 1, idleMs: 1, totalMs: 1 },
    signal: new AbortController().signal,
  }
}

const chatBody = (changes: Changes) => JSON.parse(String(chat.requestBody(attempt(changes))))
const anthropicBody = (changes: Changes) => JSON.parse(String(anthropic.requestBody(attempt(changes))))
const converseBody = (changes: Changes) => JSON.parse(converse.requestBody(attempt(changes)))
const responsesBody = (changes: Changes) => JSON.parse(responses.requestBody(attempt(changes)))
const googleBody = (changes: Changes) => JSON.parse(google.requestBody(attempt(changes)))

const call = (id: string, name: string, args: string) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: args },
})
const FOREIGN_ID = 'toolu_vrtx/01:A'.repeat(4)
const ADD = call('call_1', 'add', '{"a":1}')
const NOW = call(FOREIGN_ID, 'now', '')
/** The calls of the second turn repeat an id, and are answered in another order. */
const LOOP: ChatMessage[] = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: 'Add and tell the time.' },
  { role: 'assistant', content: '', tool_calls: [ADD], reasoning: 'First the sum.' },
  { role: 'tool', content: '3', tool_call_id: 'call_1' },
  { role: 'assistant', content: 'Now the time.', tool_calls: [ADD, NOW] },
  { role: 'tool', content: '', tool_call_id: FOREIGN_ID },
  { role: 'tool', content: '4', tool_call_id: 'call_1' },
  { role: 'user', content: 'Well?' },
]
const TOOLS = [
  { type: 'function', function: { name: 'add', parameters: { type: 'object', properties: { a: {} } } } },
  { type: 'function', function: { name: 'now' } },
]
const NAMED = { type: 'function', function: { name: 'now' } } as const

describe('a loop of tools', () => {
  test('goes to chat-completions as it is, with ids that every server takes', () => {
    const { messages } = chatBody({ messages: LOOP })
    const [first, again, foreign] = [messages[2], messages[4], messages[4]].map(
      (message, at) => message.tool_calls[at === 2 ? 1 : 0].id,
    )
    expect(first).toBe('call_1')
    expect(again).toMatch(/^call_[0-9a-f]{24}$/)
    expect(foreign).toMatch(/^call_[0-9a-f]{24}$/)
    expect(messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Add and tell the time.' },
      { role: 'assistant', content: null, tool_calls: [ADD] },
      { role: 'tool', content: '3', tool_call_id: 'call_1' },
      {
        role: 'assistant',
        content: 'Now the time.',
        tool_calls: [
          { ...ADD, id: again },
          { ...NOW, id: foreign },
        ],
      },
      { role: 'tool', content: '', tool_call_id: foreign },
      { role: 'tool', content: '4', tool_call_id: again },
      { role: 'user', content: 'Well?' },
    ])
    // A retry of the same history has to hit the same prompt cache.
    expect(chatBody({ messages: LOOP }).messages).toEqual(messages)
  })

  test('goes to chat-completions as a provider wants it', () => {
    const quirks = { developerRole: true, shortToolIds: true, reasoningHistory: true, namedRoles: ['tool'] }
    const { messages } = chatBody({ messages: LOOP, quirks })
    expect(messages[0].role).toBe('developer')
    expect(messages[2]).toMatchObject({ reasoning_content: 'First the sum.' })
    expect(messages[4]).toMatchObject({ reasoning_content: '' })
    const ids = [messages[2], messages[4]].flatMap(({ tool_calls: calls }) =>
      calls.map(({ id }: { id: string }) => id),
    )
    expect(new Set(ids).size).toBe(3)
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9]{9}$/)
    expect([3, 6, 5].map((at) => messages[at].tool_call_id)).toEqual(ids)
  })

  test('goes to chat-completions without turns that say nothing', () => {
    const { messages } = chatBody({ messages: [...LOOP, { role: 'assistant', content: ' ' }] })
    expect(messages).toHaveLength(LOOP.length)
  })

  test('goes to anthropic-messages as blocks, results first in their turn', () => {
    const { system, messages, tools } = anthropicBody({ messages: LOOP, parameters: { tools: TOOLS } })
    const [, again, foreign] = messages[3].content.map(({ id }: { id?: string }) => id)
    expect(system).toBe('Be brief.')
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(['add', 'now'])
    expect(messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Add and tell the time.' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'add', input: { a: 1 } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: '3' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Now the time.' },
          { type: 'tool_use', id: again, name: 'add', input: { a: 1 } },
          { type: 'tool_use', id: foreign, name: 'now', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: foreign },
          { type: 'tool_result', tool_use_id: again, content: '4' },
          { type: 'text', text: 'Well?' },
        ],
      },
    ])
    for (const id of [again, foreign]) expect(id).toMatch(/^[A-Za-z0-9_-]{1,40}$/)
    expect(again).not.toBe('call_1')
  })

  test('goes to anthropic-messages with the tools of its calls where the request has none', () => {
    expect(anthropicBody({ messages: LOOP }).tools).toEqual([
      { name: 'add', input_schema: { type: 'object' } },
      { name: 'now', input_schema: { type: 'object' } },
    ])
  })

  test('goes to generate-content as calls and responses, in the order of the calls', () => {
    const { contents, systemInstruction } = googleBody({ messages: LOOP, model: 'gemini-2.5-pro' })
    const add = { functionCall: { name: 'add', args: { a: 1 } } }
    const response = (name: string, output: string) => ({ functionResponse: { name, response: { output } } })
    expect(systemInstruction).toEqual({ parts: [{ text: 'Be brief.' }] })
    expect(contents).toEqual([
      { role: 'user', parts: [{ text: 'Add and tell the time.' }] },
      { role: 'model', parts: [add] },
      { role: 'user', parts: [response('add', '3')] },
      {
        role: 'model',
        parts: [{ text: 'Now the time.' }, add, { functionCall: { name: 'now', args: {} } }],
      },
      { role: 'user', parts: [response('add', '4'), response('now', '')] },
      { role: 'user', parts: [{ text: 'Well?' }] },
    ])
  })

  test('is signed for models of Google that demand a signature of the first call of each turn', () => {
    const { contents } = googleBody({ messages: LOOP, model: 'gemini-3.1-pro-preview' })
    const signed = contents.map(({ parts }: { parts: object[] }) =>
      parts.flatMap((part, at) => ('thoughtSignature' in part ? at : [])),
    )
    expect(signed).toEqual([[], [0], [], [1], [], []])
  })

  test.each(['{"a":', '[1]', '"text"', `${'['.repeat(100_000)}`])(
    'keeps arguments that are no object as a text: %.8s',
    (text) => {
      const messages: ChatMessage[] = [
        { role: 'assistant', content: '', tool_calls: [call('call_1', 'add', text)] },
        { role: 'tool', content: '3', tool_call_id: 'call_1' },
      ]
      expect(anthropicBody({ messages }).messages[1].content[0].input).toEqual({ arguments: text })
      expect(googleBody({ messages }).contents[1].parts[0].functionCall.args).toEqual({ arguments: text })
    },
  )
})

describe('the parameters of an extended request', () => {
  const {
    content: { parameters },
  } = parseExtendedRequest({
    messages: [{ role: 'user', content: 'Hi' }],
    tools: TOOLS,
    tool_choice: NAMED,
    parallel_tool_calls: false,
    stop: ['END', '\n'],
    seed: 2 ** 31 + 7,
    presence_penalty: 1,
    frequency_penalty: -1,
    logprobs: true,
    top_logprobs: 2,
    reasoning_effort: 'medium',
  })

  test('go to chat-completions by their names', () => {
    expect(chatBody({ parameters })).toMatchObject(parameters)
    const omitted = chatBody({ parameters, quirks: { omit: ['seed', 'stop', 'logprobs', 'top_logprobs'] } })
    for (const name of ['seed', 'stop', 'logprobs', 'top_logprobs']) expect(omitted).not.toHaveProperty(name)
  })

  test.each([
    ['anthropic-messages', 'claude-sonnet-5', true],
    ['anthropic-messages', 'claude-sonnet-4-20250514', false],
    ['anthropic-messages', 'kimi-k3', false],
    ['bedrock-converse', 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0', true],
    ['bedrock-converse', 'us.anthropic.claude-sonnet-4-20250514-v1:0', false],
    ['bedrock-converse', 'amazon.nova-pro-v1:0', false],
  ])('a schema goes to %s as structured output of %s: %s', (wire, model, isNative) => {
    const bodyOf = wire === 'bedrock-converse' ? converseBody : anthropicBody
    const schema = { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] }
    const format = { type: 'json_schema', json_schema: { name: 'place', schema } }
    const body = bodyOf({
      parameters: { response_format: format, reasoning_effort: 'high' },
      model,
      completionLimit: 40_000,
    })
    const closed = { ...schema, additionalProperties: false }
    const textFormat = body.outputConfig?.textFormat
    const sent = textFormat
      ? { type: textFormat.type, schema: JSON.parse(textFormat.structure.jsonSchema.schema) }
      : body.output_config?.format
    expect(sent).toEqual(isNative ? { type: 'json_schema', schema: closed } : undefined)
    expect(JSON.stringify(body.system ?? '').includes('JSON Schema')).toBe(!isNative)
    const any = bodyOf({ parameters: { response_format: { type: 'json_object' } }, model })
    expect(any.output_config ?? any.outputConfig).toBeUndefined()
    expect(JSON.stringify(any.system)).toContain('one JSON value')
  })

  test('a schema goes to Claude models before structured output in words on every wire', () => {
    const format = { type: 'json_schema', json_schema: { name: 'place', schema: { type: 'object' } } }
    const parameters = { response_format: format }
    const old = chatBody({ parameters, model: 'anthropic/claude-3.5-sonnet' })
    expect(old).not.toHaveProperty('response_format')
    expect(JSON.stringify(old.messages)).toContain('JSON Schema')
    expect(chatBody({ parameters, model: 'anthropic/claude-sonnet-4.5' })).toMatchObject(parameters)
  })

  test('go to anthropic-messages as far as it has fields for them', () => {
    const body = anthropicBody({ parameters, model: 'claude-opus-4-5' })
    expect(body).toMatchObject({
      tool_choice: { type: 'tool', name: 'now', disable_parallel_tool_use: true },
      stop_sequences: ['END'],
    })
    for (const name of ['seed', 'logprobs', 'presence_penalty', 'thinking'])
      expect(body).not.toHaveProperty(name)
  })

  test('go to generate-content as far as it has fields for them', () => {
    const body = googleBody({ parameters, model: 'gemini-3.5-flash' })
    expect(body.toolConfig).toEqual({ functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['now'] } })
    expect(body.generationConfig).toMatchObject({
      stopSequences: ['END', '\n'],
      seed: 7,
      presencePenalty: 1,
      frequencyPenalty: -1,
      responseLogprobs: true,
      logprobs: 2,
      thinkingConfig: { thinkingLevel: 'medium', includeThoughts: true },
    })
    const omitted = googleBody({ parameters, quirks: { omit: ['seed', 'tool_choice', 'reasoning_effort'] } })
    expect(omitted.generationConfig).not.toHaveProperty('seed')
    expect(omitted.generationConfig).not.toHaveProperty('thinkingConfig')
    expect(omitted).not.toHaveProperty('toolConfig')
  })

  test.each([
    ['none', { type: 'none' }, { mode: 'NONE' }],
    ['required', { type: 'any' }, { mode: 'ANY' }],
  ] as const)('choose no tool or any: %s', (choice, ofAnthropic, ofGoogle) => {
    const chosen = { parameters: { tools: TOOLS, tool_choice: choice } }
    expect(anthropicBody(chosen).tool_choice).toEqual(ofAnthropic)
    expect(googleBody(chosen).toolConfig.functionCallingConfig).toEqual(ofGoogle)
  })

  test('allow one call at a time', () => {
    const parameters: SamplingParameters = { tools: TOOLS, parallel_tool_calls: false }
    expect(anthropicBody({ parameters }).tool_choice).toEqual({
      type: 'auto',
      disable_parallel_tool_use: true,
    })
  })
})

describe('the effort of reasoning', () => {
  const high: SamplingParameters = { reasoning_effort: 'high', temperature: 0.5 }

  test('is a budget that leaves room for the answer, to models that know no effort', () => {
    const old = { parameters: high, model: 'claude-sonnet-4-5-20250929' }
    const body = anthropicBody({ ...old, completionLimit: 10_000 })
    expect(body.thinking).toEqual({ type: 'enabled', budget_tokens: 8_976 })
    expect(body).not.toHaveProperty('temperature')
    expect(anthropicBody({ ...old, completionLimit: 2_000 })).not.toHaveProperty('thinking')
    expect(anthropicBody({ ...old, completionLimit: 10_000, messages: LOOP.slice(0, 4) })).not.toHaveProperty(
      'thinking',
    )
  })

  test('is an effort to the others, which may think between calls', () => {
    const messages = LOOP.slice(0, 4)
    const model = 'claude-opus-4-6'
    expect(anthropicBody({ parameters: high, model, messages })).toMatchObject({
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'high' },
    })
    const forced: SamplingParameters = { ...high, tools: TOOLS, tool_choice: 'required' }
    expect(anthropicBody({ parameters: forced, model, messages })).not.toHaveProperty('thinking')
    expect(anthropicBody({ parameters: { reasoning_effort: 'none' }, model })).not.toHaveProperty('thinking')
  })

  test.each([
    ['gemini-2.5-flash', 'none', { thinkingBudget: 0 }],
    ['gemini-2.5-pro', 'none', { thinkingBudget: 128 }],
    ['gemini-2.5-pro', 'xhigh', { thinkingBudget: 24_576, includeThoughts: true }],
    ['gemini-3.5-flash', 'none', { thinkingLevel: 'low' }],
    ['gemini-flash-latest', 'minimal', { thinkingLevel: 'low', includeThoughts: true }],
  ] as const)('is what %s takes for %s', (model, effort, thinkingConfig) => {
    const body = googleBody({ parameters: { reasoning_effort: effort }, model })
    expect(body.generationConfig.thinkingConfig).toEqual(thinkingConfig)
  })
})

describe('breakpoints of the prompt cache', () => {
  const text = (words: string, marked = false) => ({
    type: 'text' as const,
    text: words,
    ...(marked && { cache_control: { type: 'ephemeral' } }),
  })
  const {
    content: { messages },
  } = parseExtendedRequest({
    messages: [
      { role: 'system', content: [text('Rules.'), text('Facts.', true), text('Today.')] },
      { role: 'user', content: [text('A document.', true), text('A question.')] },
      { role: 'assistant', content: null, tool_calls: [ADD] },
      { role: 'tool', tool_call_id: 'call_1', content: [text('3', true)] },
    ],
  })
  const cache_control = { type: 'ephemeral' }

  test('stand on the blocks of the messages wire that they end', () => {
    const body = anthropicBody({ messages, cachesPrompt: true })
    expect(body.system).toEqual([
      { type: 'text', text: 'Rules.\nFacts.', cache_control },
      { type: 'text', text: 'Today.' },
    ])
    expect(body.messages[0].content).toEqual([
      { type: 'text', text: 'A document.', cache_control },
      { type: 'text', text: 'A question.' },
    ])
    expect(body.messages[2].content).toMatchObject([{ type: 'tool_result', content: '3', cache_control }])
  })

  test('are set within a long conversation whose client set none', () => {
    const rules = 'Rules. '.repeat(1_000)
    const long: ChatMessage[] = [
      { role: 'system', content: rules },
      { role: 'user', content: 'One?' },
      { role: 'assistant', content: 'Two.' },
      { role: 'user', content: 'Three?' },
    ]
    const body = anthropicBody({ messages: long, cachesPrompt: true })
    expect(body.system).toEqual([{ type: 'text', text: rules, cache_control }])
    expect(body.messages.at(-1).content).toEqual([{ type: 'text', text: 'Three?', cache_control }])
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(2)
    const sent = chatBody({ messages: long, cachesPrompt: true, quirks: { cacheMarks: true } })
    expect(JSON.stringify(sent).match(/cache_control/g)).toHaveLength(2)
    const own = {
      role: 'user' as const,
      content: [{ type: 'text' as const, text: 'Mine', cacheBreakpoint: true as const }],
    }
    expect(
      JSON.stringify(anthropicBody({ messages: [...long, own], cachesPrompt: true })).match(/cache_control/g),
    ).toHaveLength(1)
    for (const messages of [long.slice(0, 2), long.slice(1)])
      expect(JSON.stringify(anthropicBody({ messages, cachesPrompt: true }))).not.toContain('cache_control')
  })

  test('are left out where writing to the cache has no price, and on the other wires', () => {
    const unpriced = anthropicBody({ messages })
    expect(unpriced.system).toBe('Rules.\nFacts.\n\nToday.')
    for (const body of [unpriced, chatBody({ messages }), googleBody({ messages })])
      expect(JSON.stringify(body)).not.toMatch(/cache/)
  })
})

describe('the responses wire', () => {
  test('gets a loop of tools as items, with nothing stored', () => {
    const { store, input } = responsesBody({ messages: LOOP })
    expect(store).toBe(false)
    expect(input.slice(0, 5)).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Add and tell the time.' },
      { type: 'function_call', call_id: 'call_1', name: 'add', arguments: '{"a":1}' },
      { type: 'function_call_output', call_id: 'call_1', output: '3' },
      { role: 'assistant', content: 'Now the time.' },
    ])
    const ids = (type: string) =>
      input.flatMap((item: Record<string, unknown>) => (item.type === type ? item.call_id : []))
    expect(ids('function_call_output').toSorted()).toEqual(ids('function_call').toSorted())
    expect(new Set(ids('function_call')).size).toBe(ids('function_call').length)
  })

  test('gets functions that are strict only if they say so, and the choice among them', () => {
    const named = (name: string, more = {}) => ({ type: 'function', function: { name, ...more } })
    const parameters: SamplingParameters = {
      tools: [
        named('add', { description: 'Adds.', parameters: { type: 'object' }, strict: true }),
        named('now'),
      ],
      tool_choice: { type: 'function', function: { name: 'add' } },
      parallel_tool_calls: false,
    }
    const { tools, tool_choice: choice, parallel_tool_calls: isParallel } = responsesBody({ parameters })
    expect(tools).toEqual([
      { type: 'function', name: 'add', description: 'Adds.', parameters: { type: 'object' }, strict: true },
      { type: 'function', name: 'now', parameters: { type: 'object', properties: {} }, strict: false },
    ])
    expect({ choice, isParallel }).toEqual({ choice: { type: 'function', name: 'add' }, isParallel: false })
  })

  test('gets formats, effort and log probabilities in its own fields, without what the provider refuses', () => {
    const schema = { type: 'object', properties: {} }
    const parameters: SamplingParameters = {
      response_format: { type: 'json_schema', json_schema: { schema } },
      reasoning_effort: 'max',
      logprobs: true,
      top_logprobs: 2,
      temperature: 1,
    }
    expect(
      responsesBody({ parameters, quirks: { efforts: ['low', 'high'], omit: ['temperature'] } }),
    ).toEqual({
      model: 'large-1',
      input: [{ role: 'user', content: 'Hi' }],
      stream: true,
      store: false,
      max_output_tokens: 64,
      text: { format: { type: 'json_schema', name: 'response', schema, strict: false } },
      reasoning: { effort: 'high' },
      include: ['message.output_text.logprobs'],
      top_logprobs: 2,
    })
    const words = responsesBody({ parameters, quirks: { jsonObjectOnly: true } })
    expect(words.text).toEqual({ format: { type: 'json_object' } })
    expect(words.instructions).toContain(JSON.stringify(schema))
  })

  test('gets media as parts, and the name of who writes', () => {
    const image = { type: 'image', source: { mediaType: 'image/png', base64: 'AAAA' } } as const
    const file = { type: 'file', source: { url: 'https://files.example/a.pdf' } } as const
    const { input } = responsesBody({
      messages: [
        { role: 'user', name: 'ada', content: [{ type: 'text', text: 'Look.' }, image, file] as never },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'One.' },
            { type: 'text', text: 'Two.' },
          ] as never,
        },
      ],
    })
    expect(input).toEqual([
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'ada:' },
          { type: 'input_text', text: 'Look.' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
          { type: 'input_file', file_url: 'https://files.example/a.pdf' },
        ],
      },
      { role: 'user', content: 'One.\nTwo.' },
    ])
  })
})
