import { describe, expect, test } from 'vitest'
import { createValidator } from '../../../src/core/api/schema-validator.ts'
import { summaryOf } from '../../../src/core/calls/compact-request.ts'
import { inputItems, referencedCalls } from '../../../src/core/calls/responses-items.ts'
import { normalizeResponsesRequest, ResponsesBody } from '../../../src/core/calls/responses-request.ts'

const NOTHING_KNOWN = { history: [], openReasoning: () => null }
const refusalOf = createValidator(ResponsesBody)
const parse = (body: unknown) => {
  expect(refusalOf(body)).toBeNull()
  return normalizeResponsesRequest(body as ResponsesBody, NOTHING_KNOWN)
}
const messagesOf = (input: unknown[]) => parse({ input }).call.content.messages

test('a text is a user message after the instructions, and the fields are those of an extended chat request', () => {
  const { call: request } = parse({
    model: 'test/one',
    input: 'Hi',
    instructions: 'Be brief.',
    max_output_tokens: 9,
    temperature: 0.5,
    top_p: 0.9,
    stream: true,
    store: false,
    background: null,
    parallel_tool_calls: false,
    tools: [{ type: 'function', name: 'add', parameters: { type: 'object' }, strict: null }],
    tool_choice: { type: 'function', name: 'add' },
    text: { format: { type: 'json_schema', name: 'sum', schema: { type: 'object' }, strict: true } },
    reasoning: { effort: 'low', summary: 'auto' },
    metadata: { team: 'x' },
  })
  expect(request).toMatchObject({
    models: ['test/one'],
    stream: true,
    completionLimit: 9,
    content: {
      extended: true,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
      parameters: {
        temperature: 0.5,
        top_p: 0.9,
        tools: [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }],
        tool_choice: { type: 'function', function: { name: 'add' } },
        parallel_tool_calls: false,
        response_format: { type: 'json_schema', json_schema: { name: 'sum', schema: { type: 'object' } } },
        reasoning_effort: 'low',
      },
    },
  })
})

test('the items of a turn become one message of the assistant, with its reasoning and its calls', () => {
  const call = (id: string, name: string) => ({ type: 'function_call', call_id: id, name, arguments: '{}' })
  const output = (id: string, text: unknown) => ({ type: 'function_call_output', call_id: id, output: text })
  const kept = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } })
  expect(
    messagesOf([
      { role: 'user', content: [{ type: 'input_text', text: 'Add.' }] },
      { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'So.' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I add.' }] },
      call('c1', 'add'),
      call('c2', 'now'),
      output('c2', 'noon'),
      output('c1', [{ type: 'input_text', text: '3' }]),
      call('c3', 'now'),
      output('c3', ''),
    ]),
  ).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'Add.' }] },
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'I add.' }],
      tool_calls: [kept('c1', 'add'), kept('c2', 'now')],
      reasoning: 'So.',
    },
    { role: 'tool', content: 'noon', tool_call_id: 'c2' },
    { role: 'tool', content: [{ type: 'text', text: '3' }], tool_call_id: 'c1' },
    { role: 'assistant', content: '', tool_calls: [kept('c3', 'now')] },
    { role: 'tool', content: '', tool_call_id: 'c3' },
  ])
})

describe('a compaction', () => {
  const open = (encrypted: string) =>
    encrypted === 'sealed' ? { text: 'Done: the yard.', signed: [] } : null
  const read = (body: object, history: unknown[] = []) =>
    normalizeResponsesRequest(body as ResponsesBody, { history, openReasoning: open })
  const TURNS = [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: 'Build a yard.' },
    { type: 'function_call', call_id: 'c1', name: 'build', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: 'built' },
    { role: 'assistant', content: 'Built.' },
  ]
  const COMPACTION = { type: 'compaction', id: 'cmp_1', encrypted_content: 'sealed' }

  test('replaces the answers and results before it, and keeps the messages of the user', () => {
    const { call, ignored } = read({ input: [...TURNS, COMPACTION, { role: 'user', content: 'And now?' }] })
    const { messages } = call.content
    expect(messages.map(({ role }) => role)).toEqual(['developer', 'user', 'user', 'user'])
    expect(messages[2]!.content).toMatch(/^Summary of .*\n\nDone: the yard\.$/s)
    expect(ignored).toEqual([])
    const stored = inputItems([COMPACTION], 'chatcmpl_1', (encrypted) => open(encrypted) !== null)
    expect(stored).toEqual([COMPACTION])
  })

  test('of another account is left out and named, and leaves what is before it', () => {
    const { call, ignored } = read({ input: [...TURNS, { ...COMPACTION, encrypted_content: 'x' }] })
    expect(call.content.messages).toHaveLength(5)
    expect(ignored).toEqual(['input[5].encrypted_content'])
  })

  test('is asked for by the last item: a summary in text, of all turns, by a model that calls no tool', () => {
    const body = {
      input: [{ role: 'user', content: 'And now?' }, { type: 'compaction_trigger' }],
      tools: [{ type: 'function', name: 'build' }],
      tool_choice: 'required',
      text: { format: { type: 'json_object' } },
    }
    const { call, compacts, ignored } = read(body, TURNS)
    expect({ compacts, ignored }).toEqual({ compacts: true, ignored: [] })
    const { messages, parameters } = call.content
    expect(messages).toHaveLength(7)
    expect(messages.at(-1)).toMatchObject({ role: 'user', content: expect.stringContaining('Summarize') })
    expect(parameters.tool_choice).toBe('none')
    expect(parameters.response_format).toBeUndefined()
    // In a turn that continues it, the request for it is over.
    const after = read({ input: [...TURNS, { type: 'compaction_trigger' }, COMPACTION] })
    expect(after.compacts).toBe(false)
    expect(after.call.content.messages).toHaveLength(3)
    expect(summaryOf({ input: 'Hi', stream: true })).toMatchObject({ stream: false, store: false })
    expect(() => summaryOf({ input: [] })).toThrow('`input` is required')
    expect(read(summaryOf({ previous_response_id: 'resp_1' }), TURNS).compacts).toBe(true)
  })
})

test('images and files are parts of a message', () => {
  const [message] = messagesOf([
    {
      role: 'user',
      content: [
        { type: 'input_image', image_url: 'https://a.test/x.png', detail: 'low' },
        { type: 'input_file', file_url: 'https://a.test/x.pdf' },
      ],
    },
  ])
  expect(message!.content).toMatchObject([
    { type: 'image', source: { url: 'https://a.test/x.png' }, detail: 'low' },
    { type: 'file', source: { url: 'https://a.test/x.pdf' } },
  ])
})

test.each<[Record<string, unknown>, string]>([
  [{ input: [] }, 'input'],
  [{ input: [7] }, 'input[0]'],
  [
    {
      input: [
        { role: 'user', content: 'a' },
        { role: 'robot', content: 'b' },
      ],
    },
    'input[1]',
  ],
  [{ input: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }] }, 'input[0].content[0].type'],
  [
    { instructions: 'x', input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
    'input[0].content[0].image_url',
  ],
  [{ input: [{ type: 'function_call', call_id: 'c', name: 'add', arguments: '{}' }] }, 'input[0]'],
  [{ input: 'a', tools: [{ type: 'function', name: 'no spaces' }] }, 'tools[0].name'],
  [{ input: 'a', tool_choice: 'required' }, 'tool_choice'],
  [{ input: 'a', text: { format: { type: 'xml' } } }, 'text.format.type'],
  [{ input: 'a', reasoning: { effort: 'vast' } }, 'reasoning.effort'],
  [{ input: 'a', max_output_tokens: 0 }, 'max_output_tokens'],
  [{ input: 'a', background: true, store: false }, 'store'],
  [{ input: 'a', previous_response_id: 7 }, 'previous_response_id'],
])('%o is refused by the path of what is wrong', (body, param) => {
  const read = () => {
    const refusal = refusalOf(body)
    if (refusal) throw refusal
    normalizeResponsesRequest(body as ResponsesBody, NOTHING_KNOWN)
  }
  expect(read).toThrow(expect.objectContaining({ code: 'invalid_request', details: { param } }))
})

test('a custom tool is a function of one text, and calls of it in the history are calls of that function', () => {
  const format = { type: 'grammar', syntax: 'lark', definition: 'start: "*** Begin Patch"' }
  const { call, declaredTools, ignored } = parse({
    input: [
      { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: 'a "b"' },
      { type: 'custom_tool_call_output', call_id: 'c1', output: 'Done' },
    ],
    tools: [{ type: 'custom', name: 'apply_patch', description: 'Edits files.', format }],
    tool_choice: { type: 'custom', name: 'apply_patch' },
  })
  expect([...declaredTools]).toEqual([['apply_patch', { name: 'apply_patch', isCustom: true }]])
  expect(ignored).toEqual(['tools[0].format'])
  expect(call.content.parameters).toMatchObject({
    tools: [
      {
        type: 'function',
        function: {
          name: 'apply_patch',
          description: expect.stringContaining(format.definition),
          parameters: { properties: { input: { type: 'string' } }, required: ['input'] },
        },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'apply_patch' } },
  })
  expect(call.content.messages).toMatchObject([
    { tool_calls: [{ id: 'c1', function: { name: 'apply_patch', arguments: '{"input":"a \\"b\\""}' } }] },
    { role: 'tool', tool_call_id: 'c1', content: 'Done' },
  ])
})

test('tools of a platform are left out by their paths where others are chosen, which keep theirs', () => {
  const { call, ignored } = parse({
    input: [
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      { role: 'user', content: 'Hi' },
    ],
    tools: [
      { type: 'web_search' },
      { type: 'mcp', server_label: 'crm' },
      { type: 'web_search_preview_2025_03_11' },
      { type: 'function', name: 'add' },
      { type: 'function', name: 'now' },
    ],
    tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'now' }] },
  })
  expect(ignored).toEqual([
    'tools[0] (web_search)',
    'tools[1] (mcp)',
    'tools[2] (web_search_preview_2025_03_11)',
  ])
  expect(call.content.hosted).toMatchObject({ tools: [], itemNames: ['input[0] (web_search_call)'] })
  expect(call.content.parameters).toMatchObject({
    tools: [{ function: { name: 'now' } }],
    tool_choice: 'required',
  })
  const misnamed = { input: 'a', tools: [{ type: 'web_search' }, { type: 'function', name: 'a b' }] }
  expect(() => parse(misnamed)).toThrow(expect.objectContaining({ details: { param: 'tools[1].name' } }))
})

const FILES = {
  type: 'namespace',
  name: 'mcp__files',
  description: 'Files of the project.',
  tools: [
    { type: 'function', name: 'read', description: 'Reads one.', parameters: { type: 'object' } },
    { type: 'custom', name: 'patch' },
  ],
}

test('the tools of a namespace are functions with joined names, also in the history and the choice', () => {
  const earlier = {
    type: 'function_call',
    call_id: 'c1',
    namespace: 'mcp__files',
    name: 'read',
    arguments: '{}',
  }
  const patched = {
    type: 'custom_tool_call',
    call_id: 'c2',
    namespace: 'mcp__files',
    name: 'patch',
    input: 'a',
  }
  const gone = { type: 'function_call', call_id: 'c3', namespace: 'mcp__gone', name: 'read', arguments: '{}' }
  const agents = { type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'read' }] }
  const input = [
    { type: 'additional_tools', role: 'developer', tools: [agents] },
    ...[earlier, patched, gone],
    ...['c1', 'c2', 'c3'].map((id) => ({ type: 'function_call_output', call_id: id, output: 'Done' })),
  ]
  const { call, declaredTools, ignored } = parse({
    input,
    tools: [{ type: 'function', name: 'read' }, FILES],
    tool_choice: { type: 'function', namespace: 'mcp__files', name: 'read' },
  })
  expect(ignored).toEqual([])
  expect(call.content.parameters.tool_choice).toEqual({
    type: 'function',
    function: { name: 'mcp__files__read' },
  })
  expect(call.content.parameters.tools).toMatchObject([
    { function: { name: 'read' } },
    {
      function: {
        name: 'mcp__files__read',
        description: 'Files of the project.\n\nReads one.',
        parameters: { type: 'object' },
      },
    },
    { function: { name: 'mcp__files__patch', parameters: { required: ['input'] } } },
    { function: { name: 'agents__read' } },
  ])
  expect(Object.fromEntries(declaredTools)).toEqual({
    read: { name: 'read', isCustom: false },
    mcp__files__read: { namespace: 'mcp__files', name: 'read', isCustom: false },
    mcp__files__patch: { namespace: 'mcp__files', name: 'patch', isCustom: true },
    agents__read: { namespace: 'agents', name: 'read', isCustom: false },
  })
  expect(call.content.messages[0]!.tool_calls).toMatchObject([
    { id: 'c1', function: { name: 'mcp__files__read' } },
    { id: 'c2', function: { name: 'mcp__files__patch', arguments: '{"input":"a"}' } },
    { id: 'c3', function: { name: 'mcp__gone__read' } },
  ])
  const stored = inputItems(input, 'chatcmpl_1', () => false)
  expect(stored.slice(1, 4)).toMatchObject([earlier, patched, gone])
})

test('allowed tools may be in a namespace, or be all of one', () => {
  const allowedOf = (tools: object[]) => {
    const given = [{ type: 'function', name: 'read' }, { type: 'function', name: 'mcp__files' }, FILES]
    const { call } = parse({ input: 'Hi', tools: given, tool_choice: { type: 'allowed_tools', tools } })
    return call.content.parameters.tools?.map((tool) => (tool.function as { name: string }).name)
  }
  expect(allowedOf([{ type: 'function', namespace: 'mcp__files', name: 'read' }])).toEqual([
    'mcp__files__read',
  ])
  expect(allowedOf([{ type: 'function', name: 'read' }])).toEqual(['read'])
  expect(allowedOf([{ type: 'namespace', name: 'mcp__files' }])).toEqual([
    'mcp__files__read',
    'mcp__files__patch',
  ])
  expect(allowedOf([{ type: 'function', name: 'mcp__files' }])).toEqual(['mcp__files'])
})

test.each<[string, object[], string]>([
  ['a namespace without a name', [{ ...FILES, name: '' }], 'tools[0].name'],
  ['a namespace without tools', [{ ...FILES, tools: undefined }], 'tools[0].tools'],
  ['a tool that is no object', [{ ...FILES, tools: [7] }], 'tools[0].tools[0]'],
  ['a namespace in another', [{ ...FILES, tools: [FILES] }], 'tools[0].tools[0].type'],
  ['a tool without a name', [{ ...FILES, tools: [{ type: 'function' }] }], 'tools[0].tools[0].name'],
  ['a tool that is declared twice', [FILES, FILES], 'tools[1].tools[0].name'],
  [
    'more tools than a request may have',
    [
      FILES,
      {
        ...FILES,
        name: 'many',
        tools: Array.from({ length: 1023 }, (_, i) => ({ type: 'function', name: `f${i}` })),
      },
    ],
    'tools',
  ],
])('%s is refused by its path', (_, tools, param) => {
  expect(() => parse({ input: 'Hi', tools })).toThrow(
    expect.objectContaining({ code: 'invalid_request', details: { param } }),
  )
})

test('encrypted reasoning is opened; what cannot be opened is left out unless it has a text', () => {
  const reasoning = (fields: object) => ({ type: 'reasoning', summary: [], ...fields })
  const turn = (id: string) => [
    { type: 'function_call', call_id: id, name: 'now', arguments: '{}' },
    { type: 'function_call_output', call_id: id, output: 'noon' },
  ]
  const input = [
    reasoning({ encrypted_content: 'ours' }),
    ...turn('a'),
    reasoning({ encrypted_content: 'theirs' }),
    ...turn('b'),
    reasoning({ encrypted_content: 'theirs', summary: [{ type: 'summary_text', text: 'In short' }] }),
    ...turn('c'),
  ]
  const openReasoning = (text: string) => (text === 'ours' ? { text: 'Thought', signed: [] } : null)
  const { call, ignored } = normalizeResponsesRequest({ input } as ResponsesBody, {
    history: [],
    openReasoning,
  })
  const turns = call.content.messages.filter(({ role }) => role === 'assistant')
  expect(turns.map(({ reasoning: thought }) => thought)).toEqual(['Thought', undefined, 'In short'])
  expect(ignored).toEqual(['input[3].encrypted_content'])
})

const reference = (id: string) => ({ type: 'item_reference', id })

test('an input refers to an item once, and to 64 items at most', () => {
  const call = `chatcmpl_${'0'.repeat(26)}`
  const items = Array.from({ length: 65 }, (_, index) => reference(`in_${index}_${call}`))
  expect([...referencedCalls(items.slice(1)).keys()]).toEqual([call])
  const refusal = (input: unknown[]) => () => referencedCalls(input)
  expect(refusal(items)).toThrow(expect.objectContaining({ details: { param: 'input[64].id' } }))
  expect(refusal(items)).toThrow(/at most 64 stored items/)
  expect(refusal([items[0], 'x', items[0]])).toThrow(
    expect.objectContaining({ details: { param: 'input[2].id' } }),
  )
})

test('media of a result follow all results of its turn, and tools may come with an item', () => {
  const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'see', arguments: '{}' })
  const image = { type: 'input_image', image_url: 'https://example.com/a.png' }
  const { call: request } = parse({
    input: [
      call('a'),
      call('b'),
      { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'Here:' }, image] },
      { type: 'function_call_output', call_id: 'b', output: [image] },
      { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'see' }] },
      { role: 'user', content: 'So?' },
    ],
    prompt_cache_key: 'k',
  })
  const { messages, parameters } = request.content
  expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool', 'user', 'user'])
  expect(messages[3]!.content).toMatchObject([
    { text: 'Content of the tool result a:' },
    { type: 'image' },
    { text: 'Content of the tool result b:' },
    { type: 'image' },
  ])
  expect(parameters).toMatchObject({
    tools: [{ function: { name: 'see' } }],
    passed: { prompt_cache_key: 'k' },
  })
})

test('fields without effect are named', () => {
  const { ignored } = parse({
    input: 'Hi',
    text: { verbosity: 'low' },
    reasoning: { summary: 'auto' },
  })
  expect(ignored).toEqual(['text.verbosity', 'reasoning.summary'])
})

test('log probabilities are asked for as in a chat', () => {
  const include = ['message.output_text.logprobs']
  const included = parse({ input: 'Hi', include })
  expect(included.ignored).toEqual([])
  expect(included.call.content.parameters).toEqual({ logprobs: true })
  const { parameters } = parse({ input: 'Hi', include, top_logprobs: 2 }).call.content
  expect(parameters).toEqual({ logprobs: true, top_logprobs: 2 })
})

test('of a response that an input refers to only the part is read that has the item', () => {
  const ids = ['0', '1', '2'].map((digit) => `chatcmpl_${digit.repeat(26)}`)
  const items = [
    `in_0_${ids[0]}`,
    `msg_${ids[1]}`,
    `fc_0_${ids[1]}`,
    `in_12_${ids[2]}`,
    `rs_${ids[2]}`,
    'own',
  ]
  expect([...referencedCalls(items.map(reference))]).toEqual([
    [ids[0], 'input'],
    [ids[1], 'response'],
    [ids[2], 'both'],
  ])
})
