import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import { ignoredFields, parseExtendedRequest } from '../../../src/core/calls/extended-request.ts'
import { kindOf } from '../../../src/core/calls/kinds/call-kinds.ts'
import { ApiError } from '../../../src/core/kernel/errors.ts'

const hello = { role: 'user', content: 'Hello' }
const TOOLS = [
  { type: 'function', function: { name: 'add', parameters: { type: 'object' } } },
  { type: 'function', function: { name: 'now' } },
]
const call = (id: string, name = 'add', args = '{}') => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})
const calls = (...ids: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => call(id)),
})
const result = (id: string, content: unknown = '3') => ({ role: 'tool', tool_call_id: id, content })
const parse = (body: Record<string, unknown>) => parseExtendedRequest({ messages: [hello], ...body })

const said = (cache_control: unknown) => ({
  role: 'user',
  content: [{ type: 'text', text: 'Hi', cache_control }],
})
const CACHED_PATH = 'messages[0].content[0].cache_control'

function refusal(body: Record<string, unknown>): string | undefined {
  try {
    parse(body)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'invalid_request') return error.details.param
    throw error
  }
  throw new Error('the request was accepted')
}

describe('an extended request', () => {
  test('says that it is one, and requires parameters but hints unless it says otherwise', () => {
    expect(parse({})).toMatchObject({
      content: { extended: true, parameters: {} },
      preferences: { requireParameters: 'but-hints' },
    })
    const loose = parse({ provider: { require_parameters: false } })
    expect(loose.preferences.requireParameters).toBe('none')
  })

  test('keeps tools, their calls and their results across turns', () => {
    const messages = [
      { role: 'developer', content: 'Be brief.' },
      hello,
      { ...calls('a', 'b'), reasoning: 'Two sums.' },
      result('b'),
      result('a', [{ type: 'text', text: '5' }]),
      { role: 'assistant', content: 'Eight.', tool_calls: [] },
      hello,
    ]
    expect(parse({ messages, tools: TOOLS }).content).toMatchObject({
      parameters: { tools: TOOLS },
      messages: [
        { role: 'developer', content: 'Be brief.' },
        hello,
        { role: 'assistant', content: '', tool_calls: [call('a'), call('b')], reasoning: 'Two sums.' },
        { role: 'tool', tool_call_id: 'b', content: '3' },
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: '5' }] },
        { role: 'assistant', content: 'Eight.' },
        hello,
      ],
    })
  })

  test('joins messages of one turn that call tools, whose results follow together', () => {
    const messages = [
      hello,
      { ...calls('a'), content: 'First.', reasoning: 'Two sums.' },
      { ...calls('b'), content: [{ type: 'text', text: 'Then.' }] },
      result('b'),
      result('a'),
      { role: 'assistant', content: 'Eight.' },
      { role: 'assistant', content: 'Is that all?' },
      { ...calls('c'), content: 'No.' },
      { role: 'assistant', content: 'One more.' },
      result('c'),
    ]
    expect(parse({ messages }).content.messages).toEqual([
      hello,
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'First.' },
          { type: 'text', text: 'Then.' },
        ],
        tool_calls: [call('a'), call('b')],
        reasoning: 'Two sums.',
      },
      result('b'),
      result('a'),
      { role: 'assistant', content: 'Eight.' },
      { role: 'assistant', content: 'Is that all?' },
      { role: 'assistant', content: 'No.\n\nOne more.', tool_calls: [call('c')] },
      result('c'),
    ])
    expect(refusal({ messages: [hello, calls('a'), calls('b'), result('a')] })).toBe(
      'messages[2].tool_calls[0].id',
    )
    expect(refusal({ messages: [hello, calls('a'), calls('a'), result('a')] })).toBe(
      'messages[2].tool_calls[0].id',
    )
  })

  test('keeps every parameter that is not the default', () => {
    const asked = {
      tools: TOOLS,
      tool_choice: { type: 'function', function: { name: 'now' } },
      parallel_tool_calls: false,
      stop: ['END', '\n\n'],
      seed: -7,
      presence_penalty: 1,
      frequency_penalty: -2,
      logprobs: true,
      top_logprobs: 3,
      reasoning_effort: 'high',
      temperature: 0,
      top_p: 1,
      response_format: { type: 'json_object' },
    }
    expect(parse({ ...asked, n: 1, store: true }).content.parameters).toEqual(asked)
    expect(parse({ stop: 'END' }).content.parameters.stop).toEqual(['END'])
  })

  test('leaves out what is the default on every wire, so that no offer is excluded by it', () => {
    const defaults = {
      tool_choice: 'none',
      parallel_tool_calls: false,
      stop: [],
      presence_penalty: 0,
      frequency_penalty: 0,
      logprobs: false,
      top_logprobs: 0,
      reasoning_effort: null,
      seed: null,
    }
    expect(parse(defaults).content.parameters).toEqual({})
    expect(
      parse({ tools: TOOLS, tool_choice: 'auto', parallel_tool_calls: true }).content.parameters,
    ).toEqual({
      tools: TOOLS,
    })
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['more than one completion', { n: 2 }, 'n'],
    ['too many stops', { stop: ['1', '2', '3', '4', '5'] }, 'stop'],
    ['an empty stop', { stop: '' }, 'stop'],
    ['a seed that is no integer', { seed: 1.5 }, 'seed'],
    ['a penalty above 2', { presence_penalty: 3 }, 'presence_penalty'],
    ['a penalty below -2', { frequency_penalty: -3 }, 'frequency_penalty'],
    ['logprobs that are no boolean', { logprobs: 1 }, 'logprobs'],
    ['too many top logprobs', { logprobs: true, top_logprobs: 21 }, 'top_logprobs'],
    ['top logprobs without logprobs', { top_logprobs: 2 }, 'top_logprobs'],
    ['an unknown effort', { reasoning_effort: 'extreme' }, 'reasoning_effort'],
    ['stream options that are no object', { stream_options: true }, 'stream_options'],
    [
      'a usage option that is no boolean',
      { stream_options: { include_usage: 1 } },
      'stream_options.include_usage',
    ],
    ['a tool of an unknown type', { tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    ['a tool without a function', { tools: [{ type: 'function' }] }, 'tools[0].function'],
    [
      'a tool of a bad name',
      { tools: [{ type: 'function', function: { name: 'a b' } }] },
      'tools[0].function.name',
    ],
    ['two tools of one name', { tools: [TOOLS[0], TOOLS[0]] }, 'tools[1].function.name'],
    ['a choice without tools', { tool_choice: 'required' }, 'tool_choice'],
    ['an unknown choice', { tools: TOOLS, tool_choice: 'some' }, 'tool_choice'],
    [
      'the choice of a tool that is not there',
      { tools: TOOLS, tool_choice: { type: 'function', function: { name: 'later' } } },
      'tool_choice.function.name',
    ],
    ['an unknown role', { messages: [{ role: 'critic', content: '' }] }, 'messages[0].role'],
    [
      'calls that are no array',
      { messages: [{ role: 'assistant', tool_calls: 1 }] },
      'messages[0].tool_calls',
    ],
    [
      'a call of another type',
      { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'custom', custom: {} }] }] },
      'messages[0].tool_calls[0]',
    ],
    [
      'a call without an id',
      { messages: [{ role: 'assistant', tool_calls: [{ ...call(''), id: '' }] }] },
      'messages[0].tool_calls[0].id',
    ],
    [
      'a call of a bad name',
      { messages: [{ role: 'assistant', tool_calls: [call('a', '')] }] },
      'messages[0].tool_calls[0].function.name',
    ],
    [
      'arguments that are no text',
      {
        messages: [
          { role: 'assistant', tool_calls: [{ ...call('a'), function: { name: 'f', arguments: {} } }] },
        ],
      },
      'messages[0].tool_calls[0].function.arguments',
    ],
    ['a result without a call id', { messages: [{ role: 'tool', content: '' }] }, 'messages[0].tool_call_id'],
    [
      'a result of media',
      {
        messages: [
          calls('a'),
          result('a', [{ type: 'image_url', image_url: { url: 'https://images.example/a.png' } }]),
        ],
      },
      'messages[1].content',
    ],
    ['a result that nobody called for', { messages: [hello, result('a')] }, 'messages[1].tool_call_id'],
    [
      'a result given twice',
      { messages: [calls('a'), result('a'), result('a')] },
      'messages[2].tool_call_id',
    ],
    [
      'a result after another turn',
      { messages: [calls('a'), hello, result('a')] },
      'messages[0].tool_calls[0].id',
    ],
    ['a call without a result', { messages: [calls('a', 'b'), result('a')] }, 'messages[0].tool_calls[1].id'],
    ['a cache of another lifetime', { messages: [said({ type: 'ephemeral', ttl: '2d' })] }, CACHED_PATH],
    ['a cache of another kind', { messages: [said({ type: 'eternal' })] }, CACHED_PATH],
    ['five breakpoints', { messages: Array(5).fill(said({ type: 'ephemeral' })) }, 'messages'],
    [
      'two calls of one id in a turn',
      { messages: [calls('a', 'a'), result('a')] },
      'messages[0].tool_calls[1].id',
    ],
  ])('is refused for %s, with the path', (_, body, param) => {
    expect(refusal(body)).toBe(param)
  })

  test('keeps up to four breakpoints of the prompt cache', () => {
    const messages = [said({ type: 'ephemeral' }), said({ type: 'ephemeral', ttl: '5m' }), said(null)]
    const kept = parse({ messages }).content.messages.flatMap(({ content }) => [content].flat())
    expect(kept).toEqual([
      { type: 'text', text: 'Hi', cacheBreakpoint: true },
      { type: 'text', text: 'Hi', cacheBreakpoint: true },
      { type: 'text', text: 'Hi' },
    ])
  })

  test('of what the stable contract knows says the same as there, which knows no other field', () => {
    const stable = fc.record(
      {
        model: fc.constantFrom('a', 'auto'),
        stream: fc.boolean(),
        max_tokens: fc.integer({ min: 1, max: 99 }),
        temperature: fc.double({ min: 0, max: 2, noNaN: true }),
        tools: fc.constantFrom([], TOOLS),
        response_format: fc.constant({ type: 'json_object' }),
        provider: fc.constantFrom({}, { require_parameters: true, sort: 'price' }),
        messages: fc.constantFrom(
          [hello],
          [{ role: 'system', content: 'x' }, hello, { role: 'assistant', content: 'y' }],
        ),
      },
      { requiredKeys: ['messages'] },
    )
    const more = fc.record(
      {
        tool_choice: fc.constant('none'),
        stop: fc.constant('x'),
        seed: fc.integer(),
        logprobs: fc.constant(true),
        reasoning_effort: fc.constant('high'),
        stream_options: fc.constant({ include_usage: true }),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(stable, more, (body, fields) => {
        const asked = parseChatRequest(body)
        expect(parseChatRequest({ ...body, ...fields })).toEqual(asked)
        const { content, preferences, ...same } = parseExtendedRequest(body)
        expect(content).toEqual({ ...asked.content, extended: true })
        expect(same).toEqual({ ...asked, content: undefined, preferences: undefined })
        expect({ ...preferences, requireParameters: 'none' }).toEqual({
          ...asked.preferences,
          requireParameters: 'none',
        })
      }),
      { numRuns: 50 },
    )
  })

  test('may repeat the id of an earlier turn', () => {
    const messages = [hello, calls('call_0'), result('call_0'), calls('call_0'), result('call_0')]
    expect(parse({ messages }).content.messages).toHaveLength(5)
  })
})

describe('a request in the spelling of another client', () => {
  const [add] = TOOLS
  const named = { function: { name: 'add' } }

  test('has functions where tools and their choice have no type', () => {
    const untyped = { function: add!.function }
    const { parameters } = parse({
      tools: [untyped, { ...untyped, function: { name: 'now' }, type: null }],
    }).content
    expect(parameters.tools).toEqual([add, { type: 'function', function: { name: 'now' } }])
    expect(parse({ tools: TOOLS, tool_choice: named }).content.parameters.tool_choice).toEqual({
      type: 'function',
      ...named,
    })
    expect(parse({ tools: TOOLS, tool_choice: 'any' }).content.parameters.tool_choice).toBe('required')
  })

  test('has the exact text of its tools only where they are as the client wrote them', () => {
    const untyped = [{ function: { name: 'add', parameters: { maximum: 1 } } }]
    const exact = { tools: '[{"function":{"name":"add","parameters":{"maximum":1.0}}}]' }
    expect(
      parseExtendedRequest({ messages: [hello], tools: untyped }, exact).content.exactJson?.tools,
    ).toBeUndefined()
    const stable = parseChatRequest({ messages: [hello], tools: untyped }, exact).content
    expect([stable.exactJson?.tools, stable.parameters.tools![0]!.type]).toEqual([undefined, 'function'])
  })

  test('has tools for functions, and calls with results for the messages of their time', () => {
    const messages = [
      hello,
      { role: 'assistant', content: null, function_call: { name: 'add', arguments: '{}' } },
      { role: 'function', name: 'add', content: '3' },
    ]
    const asked = { functions: [add!.function], function_call: { name: 'add' }, messages }
    expect(parse(asked).content).toMatchObject({
      parameters: { tools: [add], tool_choice: { type: 'function', ...named } },
      messages: [
        hello,
        { tool_calls: [call('call_1')] },
        { role: 'tool', tool_call_id: 'call_1', content: '3' },
      ],
    })
    expect(refusal({ functions: [{ name: 'a b' }] })).toBe('functions[0].name')
    expect(refusal({ functions: [add!.function], function_call: 'required' })).toBe('function_call')
  })

  test.each([
    [{ reasoning: { effort: 'low' } }, 'low'],
    [{ reasoning: { enabled: false } }, 'none'],
    [{ reasoning: { enabled: true } }, 'medium'],
    [{ reasoning: { max_tokens: 4_000 } }, 'low'],
    [{ reasoning: { max_tokens: 30_000 } }, 'high'],
    [{ reasoning: { effort: 'low' }, reasoning_effort: 'high' }, 'high'],
    [{ thinking: { type: 'disabled' } }, 'none'],
    [{ thinking: { type: 'enabled' } }, 'medium'],
    [{ reasoning_effort: 'max' }, 'max'],
    [{ reasoning_effort: 'default' }, undefined],
    [{ reasoning: {}, thinking: { clear_thinking: false } }, undefined],
  ])('asks for its effort in %j', (body, effort) => {
    expect(parse(body).content.parameters.reasoning_effort).toBe(effort)
  })

  test('keeps the thinking of a history as reasoning, documents as files, and a turn without parts', () => {
    const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'Two sums.' }] }
    const document = {
      type: 'document_url',
      document_url: 'https://example.com/a.pdf',
      document_name: 'a.pdf',
    }
    const messages = [
      { role: 'user', content: [document] },
      { ...calls('a'), content: [thinking] },
      result('a'),
      { ...calls('b'), content: [] },
      result('b'),
    ]
    const [first, thought, , second] = parse({ messages }).content.messages
    expect(first!.content).toMatchObject([{ type: 'file', filename: 'a.pdf' }])
    expect(thought).toMatchObject({ content: '', reasoning: 'Two sums.' })
    expect(second).toMatchObject({ content: '', tool_calls: [call('b')] })
  })

  test('passes what some providers take, and no tier that is unknown', () => {
    const passed = { prompt_cache_key: 'k', safety_identifier: 's', service_tier: 'flex', user: 'u' }
    expect(parse(passed).content.parameters).toEqual({ passed })
    expect(parse({ service_tier: 'scale', user: '', prompt_cache_key: 7 }).content.parameters).toEqual({})
  })
})

test('every field without effect is named, in characters that a header takes', () => {
  const body = {
    messages: [hello],
    model: 'm',
    metadata: {},
    user: 'u',
    store: false,
    service_tier: 'scale',
    reasoning: { effort: 'low', exclude: true },
    thinking: { type: 'enabled', clear_thinking: false },
    top_k: 7,
    min_p: null,
    'bad\r\nname': 1,
  }
  expect(ignoredFields(body)).toEqual([
    ...['service_tier', 'reasoning.exclude', 'thinking.clear_thinking', 'top_k', 'bad__name'],
  ])
})

describe('what is left out within messages', () => {
  const part = (fields: object) => ({ type: 'text', text: 'Hi', ...fields })

  test('is named once and without positions, unless it says nothing', () => {
    const messages = [
      { ...hello, annotations: [], refusal: null, priority: 2 },
      { role: 'user', content: [part({ citations: [7] }), part({ citations: [8], 'x\n': 0 })], priority: 0 },
      { ...calls('a'), reasoning: 'A sum.', prefix: true, function_call: { name: 'add' } },
      { ...result('a'), tool_calls: [] },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'So.' }, part({})], reasoning: 'So.' },
    ]
    expect(ignoredFields({ messages })).toEqual([
      ...['messages.priority', 'messages.content.citations', 'messages.content.x_'],
      ...['messages.prefix', 'messages.function_call', 'messages.content (thinking)', 'messages.reasoning'],
    ])
  })

  test('has a bound of names, and each of characters', () => {
    const many = Object.fromEntries(
      Array.from({ length: 99 }, (_, index) => [`${index}${'n'.repeat(99)}`, 1]),
    )
    const names = ignoredFields({
      messages: [
        { ...hello, ...many },
        { ...hello, other: 1 },
      ],
    })
    expect(names).toHaveLength(32)
    expect(names[0]).toBe(`messages.0${'n'.repeat(63)}`)
  })

  test('by providers of other wires is known to planning', () => {
    const tools = [{ type: 'function', function: { name: 'add', strict: true }, cache_control: {} }]
    const { content } = parse({ messages: [{ role: 'system', content: 'S', name: 'clerk' }, hello], tools })
    expect(kindOf(content).needs(content).onlyAt).toEqual({
      wire: 'chat-completions',
      names: ['tools.function.strict', 'tools.cache_control', 'messages.name'],
    })
    expect(kindOf(content).needs(parse({}).content)).not.toHaveProperty('onlyAt')
  })
})
