import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { kindOf } from '../../../src/core/calls/kinds/call-kinds.ts'
import {
  ignoredMessagesFields,
  type MessagesBody,
  parseMessagesRequest,
} from '../../../src/core/calls/messages-request.ts'
import { normalizeResponsesRequest, type ResponsesBody } from '../../../src/core/calls/responses-request.ts'
import { fieldsByType } from '../../helpers/declared-fields.ts'

/**
 * What becomes of each field that the pinned client libraries of the messages and the responses wire declare. Those of the
 * chat library are in test/clients/chat-fields.test.ts.
 */

const read = (path: string) => readFileSync(new URL(`../../../node_modules/${path}`, import.meta.url), 'utf8')

/** What becomes of a field: JSON that the provider gets, a path in the header, or the reason for neither. */
type Fate = { value?: unknown } & ({ sent: string } | { named: string } | { reason: string })
const sent = (value: unknown, json = JSON.stringify(value)): Fate => ({ value, sent: json })
const named = (path: string, value: unknown): Fate => ({ value, named: path })
const listed = (reason: string, value?: unknown): Fate => ({ value, reason })

/** The type of the library, its fields, and the body with an object of it. */
type TypeRow = [type: string, fates: Record<string, Fate>, bodyWith: (object: object) => object]

function expectFates(fates: Record<string, Fate>, json: string, ignored: readonly string[]): void {
  for (const [field, fate] of Object.entries(fates)) {
    if ('sent' in fate) expect(json, field).toContain(fate.sent)
    if ('named' in fate) expect(ignored, field).toContain(fate.named)
  }
  const paths = Object.values(fates).flatMap((fate) => ('named' in fate ? [fate.named] : []))
  expect([...ignored].sort()).toEqual([...new Set(paths)].sort())
}
const objectOf = (fates: Record<string, Fate>) =>
  Object.fromEntries(
    Object.entries(fates).flatMap(([name, { value }]) => (value === undefined ? [] : [[name, value]])),
  )

const MESSAGES = read('@anthropic-ai/sdk/resources/messages/messages.d.ts')
const NATIVE_TYPES = fieldsByType(MESSAGES)
const cached = { type: 'ephemeral' }
const inTurn =
  (role: string, ...after: object[]) =>
  (block: object) => ({ messages: [{ role, content: [block] }, ...after] })
const inResult = (block: object) => ({
  messages: [
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'find', input: {} }] },
    { role: 'user', content: [block] },
  ],
})
const resultOf = (type: string, content: unknown, text: string, more: Record<string, Fate> = {}): TypeRow => [
  `${type
    .split('_')
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('')}BlockParam`,
  {
    content: sent(content, text),
    tool_use_id: listed('the call of the provider is left out', 'srvtoolu_1'),
    type: sent(type, `Result of ${type.replace('_tool_result', '')}:`),
    cache_control: named('messages.content.cache_control', cached),
    ...more,
  },
  inTurn('assistant'),
]
const caller = { caller: named('messages.content.caller', { type: 'direct' }) }
const said = [{ type: 'text', text: 'at 9' }]
const KIND = listed('its fields say what it is')

const NATIVE_ROWS: TypeRow[] = [
  [
    'MessageCreateParamsBase',
    {
      max_tokens: listed('the limit of the call', 9),
      messages: sent([{ role: 'user', content: 'Hi' }], '"Hi"'),
      model: listed('chooses the target', 'any/model'),
      cache_control: named('cache_control', cached),
      container: listed('refused: what it costs is not known before'),
      diagnostics: named('diagnostics', { level: 'all' }),
      inference_geo: listed('others than `global` are refused', 'global'),
      metadata: listed('labels of the call', { user_id: 'u' }),
      output_config: sent({ effort: 'high' }, '"reasoning_effort":"high"'),
      service_tier: sent('flex', '"service_tier":"flex"'),
      speed: listed('others than this are refused', 'standard'),
      stop_sequences: sent(['zebra']),
      stream: listed('the form of the answer', true),
      system: sent('Be brief.'),
      thinking: listed('the effort says more', { type: 'adaptive' }),
      tool_choice: sent({ type: 'any' }, '"tool_choice":"required"'),
      tools: sent([{ name: 'find', input_schema: { type: 'object' } }], '"name":"find"'),
      user_profile_id: named('user_profile_id', 'u'),
      workspace_id: named('workspace_id', 'w'),
    },
    (object) => object,
  ],
  [
    'TextBlockParam',
    {
      text: sent('Wait.'),
      type: sent('text'),
      cache_control: named('messages.content.cache_control', cached),
      citations: named('messages.content.citations', [{ type: 'char_location', cited_text: 'W' }]),
    },
    inTurn('user'),
  ],
  [
    'ImageBlockParam',
    {
      source: sent({ type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }, 'iVBORw0KGgo='),
      type: sent('image'),
      cache_control: named('messages.content.cache_control', cached),
      transformations: named('messages.content.transformations', { rotate: 90 }),
    },
    inTurn('user'),
  ],
  [
    'DocumentBlockParam',
    {
      source: sent({ type: 'text', media_type: 'text/plain', data: 'Tracks.' }, 'Tracks.'),
      type: { ...KIND, value: 'document' },
      cache_control: named('messages.content.cache_control', cached),
      citations: named('messages.content.citations', { enabled: true }),
      context: sent('Yard.', 'context: Yard.'),
      title: sent('Plan', 'title: Plan'),
    },
    inTurn('user'),
  ],
  [
    'SearchResultBlockParam',
    {
      content: sent(said, 'at 9'),
      source: sent('https://a.example', 'https://a.example'),
      title: sent('Trains', 'title: Trains'),
      type: { ...KIND, value: 'search_result' },
      cache_control: named('messages.content.cache_control', cached),
      citations: named('messages.content.citations', { enabled: true }),
    },
    inTurn('user'),
  ],
  [
    'ThinkingBlockParam',
    {
      signature: named('messages.content.signature', 'c2ln'),
      thinking: sent('A sum.'),
      type: { ...KIND, value: 'thinking' },
    },
    inTurn('assistant'),
  ],
  [
    'RedactedThinkingBlockParam',
    {
      data: named('messages.content (redacted_thinking)', 'c2ln'),
      type: named('messages.content (redacted_thinking)', 'redacted_thinking'),
    },
    inTurn('assistant'),
  ],
  [
    'ToolUseBlockParam',
    {
      id: sent('toolu_1'),
      input: sent({ to: 'Bern' }, 'Bern'),
      name: sent('find'),
      type: sent('tool_use', '"tool_calls"'),
      cache_control: named('messages.content.cache_control', cached),
      toolset_name: named('messages.content.toolset_name', 'trains'),
      ...caller,
    },
    inTurn('assistant', { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] }),
  ],
  [
    'ToolResultBlockParam',
    {
      tool_use_id: sent('toolu_1', '"tool_call_id":"toolu_1"'),
      type: sent('tool_result', '"role":"tool"'),
      cache_control: named('messages.content.cache_control', cached),
      content: sent(said, 'at 9'),
      is_error: sent(true, 'Error: at 9'),
      toolset_name: named('messages.content.toolset_name', 'trains'),
    },
    inResult,
  ],
  [
    'ToolReferenceBlockParam',
    {
      tool_name: sent('find', 'Found the tool find.'),
      type: { ...KIND, value: 'tool_reference' },
      cache_control: named('messages.content.content.cache_control', cached),
    },
    (block) => inResult({ type: 'tool_result', tool_use_id: 'toolu_1', content: [block] }),
  ],
  [
    'ServerToolUseBlockParam',
    Object.fromEntries(
      Object.entries({
        ...{ id: 'srvtoolu_1', input: { query: 'q' }, name: 'web_search', type: 'server_tool_use' },
        ...{ cache_control: cached, caller: { type: 'direct' } },
      }).map(([name, value]) => [name, named('messages.content (server_tool_use)', value)]),
    ),
    inTurn('assistant'),
  ],
  resultOf('web_search_tool_result', [{ type: 'web_search_result', url: 'b.example' }], 'b.example', caller),
  resultOf('web_fetch_tool_result', { type: 'web_fetch_result', url: 'b.example' }, 'b.example', caller),
  resultOf('code_execution_tool_result', { stdout: 'nine' }, 'nine'),
  resultOf('bash_code_execution_tool_result', { stdout: 'nine' }, 'nine'),
  resultOf('text_editor_code_execution_tool_result', { error_code: 'none' }, 'none'),
  resultOf('tool_search_tool_result', { tool_references: [{ tool_name: 'find' }] }, 'find'),
  [
    'ContainerUploadBlockParam',
    { file_id: listed('refused by its type'), type: listed('refused'), cache_control: listed('refused') },
    () => inTurn('user')(said[0]!),
  ],
  [
    'Tool',
    {
      input_schema: sent({ type: 'object', title: 'To' }, '"title":"To"'),
      name: sent('find'),
      allowed_callers: named('tools.allowed_callers', ['direct']),
      cache_control: named('tools.cache_control', cached),
      defer_loading: named('tools.defer_loading', true),
      description: sent('Finds.'),
      eager_input_streaming: named('tools.eager_input_streaming', true),
      input_examples: named('tools.input_examples', [{ to: 'Bern' }]),
      strict: sent(true, '"strict":true'),
      type: { ...KIND, value: 'custom' },
    },
    (tool) => ({ tools: [tool] }),
  ],
  [
    'ToolChoiceTool',
    {
      name: sent('find', '"tool_choice":{"type":"function","function":{"name":"find"'),
      type: sent('tool', '"tool_choice":{"type":"function"'),
      disable_parallel_tool_use: sent(true, '"parallel_tool_calls":false'),
    },
    (choice) => ({ tools: [{ name: 'find', input_schema: { type: 'object' } }], tool_choice: choice }),
  ],
  [
    'ThinkingConfigEnabled',
    {
      budget_tokens: sent(2_000, '"reasoning_effort":"low"'),
      type: sent('enabled', '"reasoning_effort"'),
      display: named('thinking.display', 'omitted'),
    },
    (thinking) => ({ thinking }),
  ],
  [
    'OutputConfig',
    {
      effort: sent('low', '"reasoning_effort":"low"'),
      format: sent({ type: 'json_schema', schema: { title: 'Place' } }, '"title":"Place"'),
    },
    (config) => ({ output_config: config }),
  ],
]

describe('on the messages wire, each field for a target of another wire', () => {
  test.each(NATIVE_ROWS)('of the type %s is passed, mapped, named or listed', (type, fates, bodyWith) => {
    expect(Object.keys(fates).sort()).toEqual(NATIVE_TYPES.get(type)?.toSorted())
    const defaults = { model: 'any/model', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }
    const body = { ...defaults, ...bodyWith(objectOf(fates)) } as MessagesBody
    const { content } = parseMessagesRequest(body, { anyWire: true })
    const { onlyAt } = kindOf(content).needs(content)
    const ignored = [...ignoredMessagesFields(body, { anyWire: true }), ...(onlyAt?.names ?? [])]
    expectFates(fates, JSON.stringify([content.messages, content.parameters]), ignored)
  })

  test('is there for each block', () => {
    const union = /^export type ContentBlockParam = (.*);/m.exec(MESSAGES)![1]!
    const types = NATIVE_ROWS.map(([type]) => type)
    expect(types).toEqual(expect.arrayContaining(union.split(' | ')))
  })
})

const RESPONSES_TYPES = fieldsByType(read('openai/resources/responses/responses.d.ts'))
const SHARED_TYPES = fieldsByType(read('openai/resources/shared.d.ts'))
const item =
  (...around: object[]) =>
  (object: object) => ({ input: [...around, object] })
const part = (role: string) => (object: object) => ({ input: [{ role, content: [object] }] })
const asked = { type: 'function_call', call_id: 'call_1', name: 'find', arguments: '{}' }
const answered = { type: 'function_call_output', call_id: 'call_1', output: 'at 9' }
const STORED = listed('of the item as it is stored')
const mark = { prompt_cache_breakpoint: named('input.content.prompt_cache_breakpoint', { mode: 'explicit' }) }
const ofTool = {
  allowed_callers: named('tools.allowed_callers', ['direct']),
  async: named('tools.async', true),
  defer_loading: named('tools.defer_loading', true),
}
const ofCall = {
  async: named('input.async', true),
  caller: named('input.caller', { type: 'direct' }),
  namespace: sent('crm', 'crm'),
}

const RESPONSES_ROWS: TypeRow[] = [
  [
    'ResponseCreateParamsBase',
    {
      access_programs: named('access_programs', { any: true }),
      background: listed('the form of the answer', false),
      context_management: named('context_management', [{ type: 'compaction' }]),
      conversation: listed('refused: state is kept in responses'),
      image: named('image', { detail: 'low' }),
      include: sent(['message.output_text.logprobs'], '"logprobs":true'),
      input: sent('Hi'),
      instructions: sent('Be brief.'),
      max_output_tokens: listed('the limit of the call', 9),
      max_tool_calls: named('max_tool_calls', 3),
      metadata: listed('repeated by the response', { run: '7' }),
      model: listed('chooses the target', 'any/model'),
      moderation: named('moderation', { model: 'any' }),
      parallel_tool_calls: sent(false, '"parallel_tool_calls":false'),
      previous_response_id: listed('its items are read'),
      prompt: listed('refused: prompts are not kept'),
      prompt_cache_key: sent('k', '"prompt_cache_key":"k"'),
      prompt_cache_options: named('prompt_cache_options', { ttl: '1h' }),
      prompt_cache_retention: named('prompt_cache_retention', '24h'),
      reasoning: sent({ effort: 'low' }, '"reasoning_effort":"low"'),
      safety_identifier: sent('s', '"safety_identifier":"s"'),
      service_tier: sent('flex', '"service_tier":"flex"'),
      store: listed('whether the response is kept', true),
      stream: listed('the form of the answer', true),
      stream_options: named('stream_options.include_obfuscation', { include_obfuscation: true }),
      temperature: sent(0.5, '"temperature":0.5'),
      text: sent({ format: { type: 'json_object' } }, '"json_object"'),
      tool_choice: sent('required', '"tool_choice":"required"'),
      tools: sent([{ type: 'function', name: 'find' }], '"name":"find"'),
      top_logprobs: sent(2, '"top_logprobs":2'),
      top_p: sent(0.25, '"top_p":0.25'),
      truncation: named('truncation', 'auto'),
      user: sent('u', '"user":"u"'),
    },
    (object) => object,
  ],
  [
    'EasyInputMessage',
    {
      content: sent('Wait.'),
      role: sent('user'),
      phase: named('input.phase', 'commentary'),
      type: { ...KIND, value: 'message' },
    },
    item(),
  ],
  [
    'ResponseOutputMessage',
    {
      id: { ...STORED, value: 'msg_1' },
      content: sent([{ type: 'output_text', text: 'Wait.', annotations: [] }], '"Wait."'),
      role: sent('assistant'),
      status: { ...STORED, value: 'completed' },
      type: { ...KIND, value: 'message' },
      phase: named('input.phase', 'commentary'),
    },
    item(),
  ],
  ['ResponseInputText', { text: sent('Wait.'), type: sent('input_text', '"text"'), ...mark }, part('user')],
  [
    'ResponseInputImage',
    {
      detail: sent('low'),
      type: sent('input_image', '"image"'),
      file_id: named('input.content.file_id', 'file_1'),
      image_url: sent('https://a.example/a.png'),
      ...mark,
    },
    part('user'),
  ],
  [
    'ResponseInputFile',
    {
      type: sent('input_file', '"file"'),
      detail: named('input.content.detail', 'low'),
      file_data: sent('data:application/pdf;base64,AAAA', '"AAAA"'),
      file_id: named('input.content.file_id', 'file_1'),
      file_url: listed('the same file as its data', 'https://a.example/a.pdf'),
      filename: sent('a.pdf'),
      ...mark,
    },
    part('user'),
  ],
  [
    'ResponseOutputText',
    {
      annotations: named('input.content.annotations', [{ type: 'url_citation' }]),
      text: sent('Wait.'),
      type: sent('output_text', '"text"'),
      logprobs: named('input.content.logprobs', [{ token: 'W' }]),
    },
    part('assistant'),
  ],
  ['ResponseOutputRefusal', { refusal: sent('No.'), type: { ...KIND, value: 'refusal' } }, part('assistant')],
  [
    'ResponseFunctionToolCall',
    {
      arguments: sent('{"to":"Bern"}'),
      call_id: sent('call_1', '"id":"call_1"'),
      name: sent('find', 'find'),
      type: sent('function_call', '"tool_calls"'),
      id: { ...STORED, value: 'fc_1' },
      status: { ...STORED, value: 'completed' },
      ...ofCall,
    },
    (object) => ({ input: [object, answered] }),
  ],
  [
    'ResponseInputItem.FunctionCallOutput',
    {
      output: sent('at 9'),
      type: sent('function_call_output', '"role":"tool"'),
      id: { ...STORED, value: 'fco_1' },
      call_id: sent('call_1', '"tool_call_id":"call_1"'),
      caller: ofCall.caller,
      name: named('input.name', 'find'),
      namespace: named('input.namespace', 'crm'),
      status: { ...STORED, value: 'completed' },
    },
    item(asked),
  ],
  [
    'ResponseCustomToolCall',
    {
      call_id: sent('call_1', '"id":"call_1"'),
      input: sent('ls', 'ls'),
      name: sent('run', 'run'),
      type: sent('custom_tool_call', '"tool_calls"'),
      id: { ...STORED, value: 'ctc_1' },
      ...ofCall,
    },
    (object) => ({ input: [object, { ...answered, type: 'custom_tool_call_output' }] }),
  ],
  [
    'ResponseCustomToolCallOutput',
    {
      call_id: sent('call_1', '"tool_call_id":"call_1"'),
      output: sent('at 9'),
      type: sent('custom_tool_call_output', '"role":"tool"'),
      id: { ...STORED, value: 'cto_1' },
      caller: ofCall.caller,
    },
    item({ type: 'custom_tool_call', call_id: 'call_1', name: 'run', input: 'ls' }),
  ],
  [
    'ResponseReasoningItem',
    {
      id: { ...STORED, value: 'rs_1' },
      summary: listed('its content says more', [{ type: 'summary_text', text: 'In short' }]),
      type: { ...KIND, value: 'reasoning' },
      content: sent([{ type: 'reasoning_text', text: 'A sum.' }], '"reasoning":"A sum."'),
      encrypted_content: listed('opened where its content is missing'),
      status: { ...STORED, value: 'completed' },
    },
    (object) => ({ input: [object, asked, answered] }),
  ],
  [
    'FunctionTool',
    {
      name: sent('find'),
      parameters: sent({ type: 'object', title: 'To' }, '"title":"To"'),
      strict: sent(true, '"strict":true'),
      type: sent('function'),
      description: sent('Finds.'),
      output_schema: named('tools.output_schema', { type: 'object' }),
      ...ofTool,
    },
    (tool) => ({ tools: [tool] }),
  ],
  [
    'CustomTool',
    {
      name: sent('run'),
      type: sent('custom', '"function"'),
      description: sent('Runs.'),
      format: listed('text is what it takes', { type: 'text' }),
      ...ofTool,
    },
    (tool) => ({ tools: [tool] }),
  ],
  [
    'ToolChoiceFunction',
    {
      name: sent('find', '"tool_choice":{"type":"function","function":{"name":"find"'),
      type: sent('function', '"tool_choice":{"type":"function"'),
    },
    (choice) => ({ tools: [{ type: 'function', name: 'find' }], tool_choice: choice }),
  ],
  [
    'ResponseTextConfig',
    {
      format: sent({ type: 'json_object' }, '"json_object"'),
      verbosity: named('text.verbosity', 'low'),
    },
    (text) => ({ text }),
  ],
  [
    'Reasoning',
    {
      context: named('reasoning.context', 'all_turns'),
      effort: sent('low', '"reasoning_effort":"low"'),
      generate_summary: named('reasoning.generate_summary', 'auto'),
      mode: named('reasoning.mode', 'pro'),
      summary: named('reasoning.summary', 'auto'),
    },
    (reasoning) => ({ reasoning }),
  ],
]

describe('on the responses wire, each field', () => {
  test.each(RESPONSES_ROWS)('of the type %s is passed, mapped, named or listed', (type, fates, bodyWith) => {
    const fields = RESPONSES_TYPES.get(type) ?? SHARED_TYPES.get(type)
    expect(Object.keys(fates).sort()).toEqual(fields?.toSorted())
    const body = { input: 'Hi', ...bodyWith(objectOf(fates)) } as ResponsesBody
    const { call, ignored } = normalizeResponsesRequest(body, { history: [], openReasoning: () => null })
    expectFates(fates, JSON.stringify(call.content), ignored)
  })
})
