import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import { parseExtendedRequest } from '../../../src/core/calls/extended-request.ts'
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
    expect(parse({ ...asked, n: 1, user: 'x', store: true }).content.parameters).toEqual(asked)
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
    ['an unknown choice', { tools: TOOLS, tool_choice: 'any' }, 'tool_choice'],
    [
      'the choice of a tool that is not there',
      { tools: TOOLS, tool_choice: { type: 'function', function: { name: 'later' } } },
      'tool_choice.function.name',
    ],
    ['an unknown role', { messages: [{ role: 'function', content: '' }] }, 'messages[0].role'],
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
    ['a cache of another lifetime', { messages: [said({ type: 'ephemeral', ttl: '1h' })] }, CACHED_PATH],
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
