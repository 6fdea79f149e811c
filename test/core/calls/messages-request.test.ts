import { describe, expect, test } from 'vitest'
import { kindOf } from '../../../src/core/calls/kinds/call-kinds.ts'
import {
  extrasBound,
  foldSystemTurns,
  withoutBillingHeader,
  withoutCaching,
  withoutNativeBillingHeader,
  withoutUnsignedThinking,
} from '../../../src/core/calls/messages-content.ts'
import {
  ignoredMessagesFields,
  type MessagesBody,
  nativeContent,
  parseMessagesRequest,
} from '../../../src/core/calls/messages-request.ts'
import type { ApiError } from '../../../src/core/kernel/errors.ts'

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const CACHED = { cache_control: { type: 'ephemeral' } }

const TOOL = { name: 'f', input_schema: { type: 'object' } }

const parse = (changes: object = {}) =>
  parseMessagesRequest({
    model: 'm',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'Hi' }],
    ...changes,
  } as MessagesBody)

const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
const assistant = (...content: object[]) => ({ messages: [{ role: 'assistant', content }] })

describe('a request on the messages wire', () => {
  test('forwards what the model answers by, and nothing that names its user or is not known', () => {
    const kept = {
      system: [{ type: 'text', text: 'Be brief.', ...CACHED }],
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ ...TOOL, ...CACHED }],
      tool_choice: { type: 'auto' },
      thinking: { type: 'enabled', budget_tokens: 1_024 },
      stop_sequences: ['END'],
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
    }
    const request = parse({
      ...kept,
      metadata: { user_id: 'u' },
      unknown: 1,
      service_tier: 'standard_only',
      stream: true,
      models: ['n'],
      provider: { only: ['acme'] },
    })
    expect(request.content.request).toEqual(kept)
    expect(request).toMatchObject({
      models: ['m', 'n'],
      stream: true,
      completionLimit: 9,
      preferences: { only: ['acme'] },
      content: {
        parameters: {
          temperature: 0.5,
          top_p: 0.9,
          tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
          stop: ['END'],
          reasoning_effort: 'low',
        },
      },
    })
  })

  test('is read as chat messages: turns of the model, results of tools, media by what they are', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }
    const messages = [
      { role: 'user', content: 'Use f.' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm', signature: 's' },
          { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'done' }, image] },
          { type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'D' } },
        ],
      },
    ]
    const { messages: read } = parse({ system: 'Be brief.', messages }).content
    expect(read.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'user'])
    expect(read[2]).toEqual({
      role: 'assistant',
      content: '',
      reasoning: 'Hm',
      tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
    })
    expect(read[3]).toEqual({ role: 'tool', tool_call_id: 'toolu_1', content: 'done' })
    expect(read[4]!.content).toMatchObject([
      { type: 'text', text: 'Content of the tool result toolu_1:' },
      { type: 'image', size: { width: 1, height: 1 } },
      { type: 'text', text: 'title: T' },
      { type: 'text', text: 'D' },
    ])
  })

  test('reaches its worker as what is forwarded, from which the same is read', () => {
    const { content } = parse({ ...user({ type: 'text', text: 'Hi' }), tools: [TOOL], system: 'S' })
    expect(nativeContent(JSON.parse(JSON.stringify(content.request)))).toEqual(content)
  })

  test('counts every kind of block in the bound of its prompt', () => {
    const bound = (changes: object) => {
      return kindOf(parse(changes).content).needs(parse(changes).content).prompt.textTokens
    }
    const text = 'abc '.repeat(400)
    const least = bound({})
    for (const changes of [
      { system: text },
      { tools: [{ ...TOOL, description: text }] },
      user({ type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text }] }),
      user({ type: 'tool_result', tool_use_id: 'a', content: text }),
      assistant({ type: 'tool_use', id: 'a', name: 'f', input: { text } }),
      assistant({ type: 'thinking', thinking: text, signature: 's' }),
      assistant({ type: 'redacted_thinking', data: text }),
      { output_config: { format: { type: 'json_schema', schema: { description: text } } } },
    ])
      expect(bound(changes), JSON.stringify(changes).slice(0, 60)).toBeGreaterThan(least + 400)
  })

  test('is held for what providers put around thinking and citations, beside that of a chat', () => {
    const extras = (changes: object) => extrasBound(parse(changes).content.request)
    expect(extras({})).toBe(0)
    expect(extras({ thinking: { type: 'adaptive' } })).toBe(200)
    expect(extras({ output_config: { effort: 'low' } })).toBe(0)
    const source = { type: 'text', media_type: 'text/plain', data: 'D' }
    expect(extras(user({ type: 'document', source, citations: { enabled: true } }))).toBe(1_500)
  })

  test.each<[string, object]>([
    ['messages[0]', { messages: ['Hi'] }],
    ['messages[0].role', { messages: [{ role: 'developer', content: 'Hi' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 1 }] }],
    ['messages[0].content[0].type', user({ type: 'server_tool_use' })],
    ['messages[0].content[0].type', user({ type: 'tool_use' })],
    ['messages[0].content[0].tool_use_id', assistant({ type: 'web_search_tool_result' })],
    ['messages[0].content[0].type', assistant({ type: 'mcp_tool_use', id: 'a', name: 'f', input: {} })],
    ['messages[0].content[0].type', user({ type: 'container_upload', file_id: 'f' })],
    [
      'messages[0].content[0].tool.name',
      { messages: [{ role: 'system', content: [{ type: 'tool_addition', tool: {} }] }] },
    ],
    ['messages[0].content[0].text', user({ type: 'text' })],
    ['messages[0].content[0].source.type', user({ type: 'image', source: { type: 'file', file_id: 'f' } })],
    [
      'messages[0].content[0].source.data',
      user({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '%' } }),
    ],
    ['messages[0].content[0].tool_use_id', user({ type: 'tool_result' })],
    [
      'messages[0].content[0].content[0].type',
      user({ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'tool_result' }] }),
    ],
    ['system[0].type', { system: [{ type: 'image' }] }],
    ['tools[0].type', { tools: [{ type: 'code_execution_20250825', name: 'c' }] }],
    ['mcp_servers', { mcp_servers: [] }],
    ['container', { container: 'c' }],
    ['thread', { thread: { type: 'create' } }],
    ['thread', { thread: { type: 'continue', previous_message_id: 'msg_1' } }],
    ['context_management', { context_management: 'all' }],
    ['context_management.edits', { context_management: { edits: {} } }],
    ['context_management.edits[0].type', { context_management: { edits: [{ type: 'compact_20260112' }] } }],
    ['service_tier', { service_tier: 'flex' }],
    ['speed', { speed: 'fast' }],
    ['inference_geo', { inference_geo: 'us' }],
    ['tools[0].name', { tools: [{ input_schema: {} }] }],
    ['tools[0].input_schema', { tools: [{ name: 'f' }] }],
  ])('is refused for %s', (param, changes) => {
    const refusal = (() => {
      try {
        parse(changes)
      } catch (error) {
        return error as ApiError
      }
    })()
    expect(refusal).toMatchObject({ code: 'invalid_request', details: { param } })
  })
})

test('a longer lifetime in the prompt cache is five minutes, and is named', () => {
  const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } }
  const body = {
    max_tokens: 10,
    ...hour,
    system: [{ type: 'text', text: 'S', ...hour }],
    tools: [{ name: 'f', input_schema: {}, ...hour }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'a', ...hour }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'b', ...hour }] }],
      },
    ],
  }
  const sent = JSON.stringify(parseMessagesRequest(body as MessagesBody).content.request)
  const { max_tokens: _, ...forwarded } = body
  expect(JSON.parse(sent)).toEqual(JSON.parse(JSON.stringify(forwarded).replaceAll(',"ttl":"1h"', '')))
  expect(ignoredMessagesFields(body as MessagesBody)).toEqual(['cache_control.ttl'])
})

test('where any wire may serve, an hour in the prompt cache is asked of the targets that have it', () => {
  const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } }
  const body: MessagesBody = {
    max_tokens: 10,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', ...hour }] }],
  }
  const { content } = parseMessagesRequest(body, { anyWire: true })
  expect(content.request.messages).toEqual(body.messages)
  expect(ignoredMessagesFields(body, { anyWire: true })).toEqual([])
  expect(kindOf(content).needs(content)).toMatchObject({
    cachesHour: true,
    parameters: ['cache_control.ttl'],
  })
  const short = kindOf(content).withShortCaching!(content) as typeof content
  expect(short.request.messages).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'Hi', ...CACHED }] },
  ])
})

describe("the maker's own tools", () => {
  const bash = { type: 'bash_20250124', name: 'bash' }
  const search = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
  const read = (changes: object) =>
    parseMessagesRequest(
      { max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }], ...changes } as MessagesBody,
      { anyWire: true },
    ).content
  const needsOf = (changes: object) => kindOf(read(changes)).needs(read(changes))

  test('are forwarded as they are, held for, and demanded of the target that gets them', () => {
    const editor = { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 9 }
    const content = read({ tools: [TOOL, bash, editor] })
    expect(content.request.tools).toEqual([TOOL, bash, editor])
    expect(content.parameters.tools).toHaveLength(1)
    const { parameters, prompt } = needsOf({ tools: [TOOL, bash, editor] })
    expect(parameters).toEqual(['tools', 'bash_20250124', 'text_editor_20250728'])
    // Published: 245 and 700.
    expect(prompt.textTokens).toBeGreaterThan(needsOf({ tools: [TOOL] }).prompt.textTokens + 945)
    expect(() => read({ tools: [{ type: 'bash_20250124' }] })).toThrow('A tool has a name.')
  })

  test('are named where their cost is not known', () => {
    const advisor = { type: 'advisor_20260301', name: 'advisor', model: 'm' }
    expect(() => read({ tools: [advisor] })).toThrow('`advisor_20260301` is not supported here')
  })

  test('that search among tools let the provider count the prompt once for each search', () => {
    const tools = [{ ...TOOL, defer_loading: true }]
    const { providerTools, parameters } = needsOf({ tools: [...tools, search] })
    expect(providerTools).toEqual({ webSearches: [], codeExecutions: 0, fillsWindow: false })
    // Targets of other wires get all tools at once.
    expect(parameters).toEqual(['tools'])
    expect(needsOf({ tools })).not.toHaveProperty('providerTools')
  })

  test.each<[string, object[], object]>([
    ['a search with its limit', [{ type: 'web_search_20250305', max_uses: 3 }], { webSearches: [3] }],
    ['one without', [{ type: 'web_search_20250305', max_uses: null }], { webSearches: [null] }],
    ['pages, whose tokens are all they cost', [{ type: 'web_fetch_20250910' }], {}],
    ['programs', [{ type: 'code_execution_20250825' }], { codeExecutions: 1 }],
    [
      'programs beside tools that make them free',
      [{ type: 'code_execution_20260120' }, { type: 'web_fetch_20260209' }],
      {},
    ],
  ])('that fill the window are held for by their uses: %s', (_, types, uses) => {
    const tools = types.map((type) => ({ name: 'n', ...type }))
    expect(needsOf({ tools }).providerTools).toEqual({
      webSearches: [],
      codeExecutions: 0,
      fillsWindow: true,
      ...uses,
    })
  })

  test('a definition is held for again at each place that refers to it', () => {
    const tools = [{ ...TOOL, description: 'Finds one. '.repeat(60), defer_loading: true }]
    const reference = { type: 'tool_reference', tool_name: 'f' }
    const use = { type: 'tool_use', id: 'a', name: 'g', input: {} }
    const history = (...content: object[]) => [
      { role: 'assistant', content: [use] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content }] },
    ]
    const tokens = (messages: object[]) => needsOf({ tools, messages }).prompt.textTokens
    const none = tokens(history({ type: 'text', text: 'Found the tool f.' }))
    const once = tokens(history(reference))
    expect(once - none).toBeGreaterThan(200)
    const found = {
      type: 'tool_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'tool_search_tool_search_result', tool_references: [reference] },
    }
    const added = { type: 'tool_addition', tool: { type: 'tool_reference', name: 'f' } }
    const twice = tokens([...history(reference), { role: 'assistant', content: [found] }])
    expect(twice - once).toBeGreaterThan(200)
    const thrice = tokens([...history(reference), { role: 'system', content: [added] }])
    expect(thrice - once).toBeGreaterThan(200)
  })

  test('their results in a history are forwarded, counted, and texts for other targets', () => {
    const text = 'abc '.repeat(400)
    const content = [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: text } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: [
          { type: 'web_search_result', title: 'T', url: 'https://t.example', encrypted_content: 'x' },
        ],
      },
      {
        type: 'bash_code_execution_tool_result',
        tool_use_id: 'srvtoolu_2',
        content: {
          type: 'bash_code_execution_result',
          stdout: 'out',
          stderr: '',
          return_code: 0,
          content: [],
        },
      },
      { type: 'compaction', content: 'They met.' },
      { type: 'text', text: 'Done.' },
    ]
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content },
    ]
    expect(read({ messages }).request.messages).toEqual(messages)
    expect(read({ messages }).messages.at(-1)).toEqual({
      role: 'assistant',
      content: 'Result of web_search:\nT\nhttps://t.exampleResult of bash_code_execution:\noutThey met.Done.',
    })
    expect(needsOf({ messages }).prompt.textTokens).toBeGreaterThan(needsOf({}).prompt.textTokens + 400)
  })

  test('a tool that a turn of the system adds is declared at other targets, and keeps its turn at its own', () => {
    const definition = { name: 'g', description: 'G', input_schema: { type: 'object' } }
    const add = { type: 'tool_addition', tool: { type: 'tool_definition', definition } }
    const remove = { type: 'tool_removal', tool: { type: 'tool_reference', name: 'f' } }
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'system', content: [add, remove] },
    ]
    const { parameters, messages: chat, request } = read({ tools: [TOOL], messages })
    expect(parameters.tools).toMatchObject([{ function: { name: 'f' } }, { function: { name: 'g' } }])
    expect(chat.at(-1)).toEqual({
      role: 'system',
      content: 'The tool g is now available.\n\nThe tool f is no longer available.',
    })
    expect(foldSystemTurns(request)).toBe(request)
  })
})

test('the turns of an assistant that follow each other have their results together', () => {
  const use = (id: string) => ({
    role: 'assistant',
    content: [{ type: 'tool_use', id, name: 'f', input: {} }],
  })
  const found = { type: 'tool_reference', tool_name: 'g' }
  const results = ['a', 'b'].map((id) => ({ type: 'tool_result', tool_use_id: id, content: [found] }))
  const messages = [{ role: 'user', content: 'Hi' }, use('a'), use('b'), { role: 'user', content: results }]
  const { content } = parseMessagesRequest({ max_tokens: 10, messages } as MessagesBody, { anyWire: true })
  expect(content.messages.map(({ role, tool_call_id: id, content: text }) => [role, id, text])).toEqual([
    ['user', undefined, 'Hi'],
    ['assistant', undefined, ''],
    ['tool', 'a', 'Found the tool g.'],
    ['tool', 'b', 'Found the tool g.'],
  ])
})

test('a tool whose loading is deferred is declared to other wires once it was found or called', () => {
  const tool = (name: string) => ({ name, input_schema: { type: 'object' }, defer_loading: true })
  const found = { type: 'tool_reference', tool_name: 'found' }
  const messages = [
    { role: 'user', content: 'Hi' },
    ...['search', 'called'].flatMap((name) => [
      { role: 'assistant', content: [{ type: 'tool_use', id: name, name, input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: name, content: [found] }] },
    ]),
  ]
  const declared = (...more: object[]) => {
    const tools = [
      { ...tool('search'), defer_loading: false },
      ...['found', 'called', 'later'].map(tool),
      ...more,
    ]
    const body = { max_tokens: 10, messages, tools } as MessagesBody
    const { parameters } = parseMessagesRequest(body, { anyWire: true }).content
    return parameters.tools?.map((declaredTool) => (declaredTool.function as { name: string }).name)
  }
  expect(declared()).toEqual(['search', 'found', 'called'])
  // No target of another wire would search for the others.
  const search = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
  expect(declared(search)).toEqual(['search', 'found', 'called', 'later'])
})

test("a client's line for its maker's billing is left out of the system text", () => {
  const line = 'x-anthropic-billing-header: cc_version=2; cch=1a2b3;'
  const user = { role: 'user', content: 'Hi' } as const
  const left = (content: string) => withoutBillingHeader([{ role: 'system', content }, user])
  expect(left(`${line}\n\nBe brief.`)).toEqual([{ role: 'system', content: 'Be brief.' }, user])
  expect(left(line)).toEqual([user])
  expect(left(`Be brief. ${line}`)[0]!.content).toBe(`Be brief. ${line}`)
  const native = (...texts: string[]) =>
    withoutNativeBillingHeader({ system: texts.map((text) => ({ type: 'text', text })) }).system
  expect(native(line, 'Be brief.')).toEqual([{ type: 'text', text: 'Be brief.' }])
  expect(native(line)).toBeUndefined()
  expect(withoutNativeBillingHeader({ system: `${line}\nBe brief.` }).system).toEqual([
    { type: 'text', text: 'Be brief.' },
  ])
})

test('without caching a request is the same but for its marks', () => {
  const schema = { properties: { cache_control: { type: 'string' } } }
  const request = (mark: object) => ({
    ...mark,
    system: [{ type: 'text', text: 'S', ...mark }],
    tools: [{ name: 'f', input_schema: schema, ...mark }],
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'tool_use', input: { cache_control: 1 }, ...mark }] },
      { role: 'user', content: [{ type: 'tool_result', content: [{ type: 'text', ...mark }], ...mark }] },
    ],
  })
  expect(withoutCaching(request(CACHED))).toEqual(request({}))
})

test('turns of the system become what every target takes: its field, or text of the user beside them', () => {
  const system = (content: unknown) => ({ role: 'system', content })
  const block = (text: string) => ({ type: 'text', text })
  const use = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] }
  const result = { type: 'tool_result', tool_use_id: 'a', content: '1' }
  const fold = (messages: object[], before?: string) =>
    foldSystemTurns({ system: before, messages }) as { system?: unknown; messages: object[] }
  const hi = { role: 'user', content: 'Hi' }
  expect(fold([system('B'), hi], 'A')).toEqual({ system: [block('A'), block('B')], messages: [hi] })
  expect(fold([hi, system('B'), use, { role: 'user', content: [result] }]).messages).toEqual([
    { role: 'user', content: [block('Hi'), block('B')] },
    use,
    { role: 'user', content: [result] },
  ])
  expect(
    fold([hi, use, system([block('B')]), { role: 'user', content: [result, block('C')] }]).messages,
  ).toEqual([hi, use, { role: 'user', content: [result, block('B'), block('C')] }])
  expect(fold([hi, { role: 'assistant', content: 'Yo' }, system('B')]).messages.at(-1)).toEqual({
    role: 'user',
    content: [block('B')],
  })
})

test('thinking without a signature, which a model of another wire made, is left out for targets of this one', () => {
  const said = (...content: object[]) => ({ role: 'assistant', content })
  const unsigned = { type: 'thinking', thinking: 'Hm', signature: '' }
  const signed = { type: 'thinking', thinking: 'Hm', signature: 's' }
  const use = { type: 'tool_use', id: 'a', name: 'f', input: {} }
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: '1' }] }
  const hi = { role: 'user', content: 'Hi' }
  const kept = {
    thinking: { type: 'enabled', budget_tokens: 2_000 },
    messages: [hi, said(signed, use), result],
  }
  expect(withoutUnsignedThinking(kept)).toBe(kept)
  const sealed = 'id.20000.c2VhbGVk'
  const digest = { ...signed, signature: '8a1f2e3c-0b4d-4a53-9c07-1f2a3b4c5d6e' }
  const hidden = { type: 'redacted_thinking', data: sealed }
  const others = { messages: [hi, said({ ...signed, signature: sealed }, hidden, digest, use), result] }
  expect(withoutUnsignedThinking(others)).toEqual({ messages: [hi, said(digest, use), result] })
  expect(withoutUnsignedThinking(others, true)).toEqual({ messages: [hi, said(use), result] })
  const messages = [hi, said(unsigned), said(unsigned, use), result]
  expect(withoutUnsignedThinking({ thinking: kept.thinking, messages })).toEqual({
    messages: [hi, said(use), result],
  })
  const adaptive = { thinking: { type: 'adaptive' }, messages }
  expect(withoutUnsignedThinking(adaptive)).toHaveProperty('thinking', { type: 'adaptive' })
})

test.each<[string, object, object]>([
  ['adaptive thinking', { thinking: { type: 'adaptive' } }, { reasoning_effort: 'medium' }],
  ['thinking turned off', { thinking: { type: 'disabled' } }, {}],
  ['a large budget', { thinking: { type: 'enabled', budget_tokens: 31_999 } }, { reasoning_effort: 'high' }],
  [
    'an effort, which wins',
    { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
    { reasoning_effort: 'max' },
  ],
  ['a choice of no tool at all', { tool_choice: { type: 'any' } }, {}],
  ['any tool', { tools: [TOOL], tool_choice: { type: 'any' } }, { tool_choice: 'required' }],
  [
    'one tool, one at a time',
    { tools: [TOOL], tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true } },
    { tool_choice: { type: 'function', function: { name: 'f' } }, parallel_tool_calls: false },
  ],
  [
    'a schema',
    { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'output', schema: { type: 'object' }, strict: true },
      },
    },
  ],
])('is read as parameters of a chat: %s', (_, changes, expected) => {
  const { tools: _t, ...parameters } = parse(changes).content.parameters
  expect(parameters).toEqual(expected)
})

test('forwards the features of the wire that cost nothing, and what its edits of the context need', () => {
  const betas = (header: string, changes = {}) =>
    parseMessagesRequest(
      { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], ...changes } as MessagesBody,
      { betaHeader: header },
    ).content
  expect(betas('claude-code-20250219, context-1m-2025-08-07').betas).toEqual(['claude-code-20250219'])
  expect(betas('context-1m-2025-08-07')).not.toHaveProperty('betas')
  const keepsAll = { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] }
  expect(betas('', { context_management: keepsAll }).request).not.toHaveProperty('context_management')
  const clears = { edits: [{ type: 'clear_tool_uses_20250919' }] }
  expect(betas('', { context_management: clears })).toMatchObject({
    request: { context_management: clears },
    betas: ['context-management-2025-06-27'],
  })
})
