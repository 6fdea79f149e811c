import { type Fields, isObject } from '../json/json-object.ts'
import { isSealed } from './completion.ts'
import { isDispensable, isOwnTool, PROVIDER_RESULTS } from './makers-tools.ts'
import type { Read, ReadMembers } from './unread-members.ts'

/**
 * What the readers of the three wires read within the objects of a request. What is missing here is named in
 * `x-ignored-parameters`.
 */

const all = (...names: string[]): ReadMembers => Object.fromEntries(names.map((name) => [name, true]))

/** Of an object by its `type`; of a type that is not in the table, all, since its reader refuses or names it. */
const byType =
  (types: Readonly<Record<string, true | null | ReadMembers>>, absent = '') =>
  ({ type }: Fields): true | null | ReadMembers => {
    const known = typeof type === 'string' ? type : absent
    return Object.hasOwn(types, known) ? types[known]! : true
  }

/** Of the definition of a function, by a provider of any wire, and by one of the chat-completions wire. */
const PORTABLE = ['name', 'description', 'parameters']
export const FUNCTION = [...PORTABLE, 'strict']

// POST /v2/chat/completions

const marked = { type: true, cache_control: true } as const
const CHAT_PARTS = {
  text: { ...marked, text: true },
  image_url: { ...marked, image_url: all('url', 'detail') },
  video_url: { ...marked, video_url: all('url') },
  input_audio: { ...marked, input_audio: all('data', 'format') },
  file: { ...marked, file: all('file_data', 'filename') },
  refusal: { ...marked, refusal: true },
  document_url: { ...marked, document_url: all('url'), document_name: true },
} as const
const SAYING = {
  ...all('role', 'name', 'tool_call_id'),
  content: byType({ ...CHAT_PARTS, thinking: null }),
}
/** Reasoning is sent with the calls that it led to. The index of a call is its position. */
const CALLING = {
  ...SAYING,
  content: byType({ ...CHAT_PARTS, thinking: { type: true, thinking: all('type', 'text') } }),
  tool_calls: { ...all('id', 'type', 'index'), function: all('name', 'arguments') },
  ...all('reasoning', 'reasoning_content'),
  reasoning_details: ({ data }: Fields) => (isSealed(data) ? true : null),
}
const CALLING_FUNCTION = { ...CALLING, function_call: all('name', 'arguments') }

function chatMessage({ role, tool_calls: calls, function_call: call }: Fields): ReadMembers {
  if (role !== 'assistant') return SAYING
  if (calls == null) return isObject(call) ? CALLING_FUNCTION : SAYING
  return Array.isArray(calls) && calls.length > 0 ? CALLING : SAYING
}

/** Of the body of an extended chat completion, where not all is read. Definitions of tools are passed on as they are. */
export const CHAT_MEMBERS: ReadMembers = {
  messages: chatMessage,
  tool_choice: { type: true, function: all('name') },
  reasoning: all('effort', 'max_tokens', 'enabled'),
  thinking: all('type', 'budget_tokens'),
  stream_options: all('include_usage'),
}

/** Of the tools of a chat completion, by providers of other wires. */
export const PORTABLE_TOOL: Read = { type: true, function: all(...PORTABLE) }

// POST /v2/messages, by providers of other wires

const OWN_TOOL = all('type', 'name', 'description', 'input_schema', 'strict')
const NATIVE_TEXT = all('type', 'text')
const SOURCE = all('type', 'media_type', 'data', 'url')
const NATIVE_IMAGE = { type: true, source: SOURCE } as const
const DOCUMENT = {
  ...all('type', 'title', 'context'),
  source: { ...SOURCE, content: byType({ text: NATIVE_TEXT, image: NATIVE_IMAGE }) },
}
const SEARCH_RESULT = { ...all('type', 'title', 'source'), content: byType({ text: NATIVE_TEXT }) }
const IN_RESULT = {
  text: NATIVE_TEXT,
  image: NATIVE_IMAGE,
  document: DOCUMENT,
  search_result: SEARCH_RESULT,
  tool_reference: all('type', 'tool_name'),
}
const UNSEALED_BLOCK = byType({
  ...IN_RESULT,
  tool_result: { ...all('type', 'tool_use_id', 'is_error'), content: byType(IN_RESULT) },
  tool_use: all('type', 'id', 'name', 'input'),
  thinking: all('type', 'thinking'),
  redacted_thinking: null,
  server_tool_use: null,
  compaction: all('type', 'content'),
  tool_addition: { type: true, tool: { ...all('type', 'name'), definition: OWN_TOOL } },
  tool_removal: { type: true, tool: all('type', 'name') },
  ...Object.fromEntries(PROVIDER_RESULTS.map((type) => [type, all('type', 'tool_use_id', 'content')])),
})
/** Planning names thinking that the gateway sealed, where its maker does not get it. */
const NATIVE_BLOCK = (block: Fields) =>
  [block.signature, block.data].some(isSealed) ? true : UNSEALED_BLOCK(block)

/** Tools of the maker that a request cannot do without are named by planning. */
function nativeTool(tool: Fields): true | null | ReadMembers {
  if (isOwnTool(tool)) return OWN_TOOL
  return isDispensable(String(tool.type)) ? null : true
}

/** Of a request on the messages wire. */
export const NATIVE_MEMBERS: ReadMembers = {
  ...all('output_format', 'stop_sequences', 'temperature', 'top_p'),
  system: NATIVE_BLOCK,
  messages: { role: true, content: NATIVE_BLOCK },
  tools: nativeTool,
  tool_choice: all('type', 'name', 'disable_parallel_tool_use'),
  thinking: all('type', 'budget_tokens'),
  output_config: all('effort', 'format'),
}

// POST /v2/responses

const PART = byType({
  input_text: all('type', 'text'),
  output_text: all('type', 'text'),
  refusal: all('type', 'refusal'),
  input_image: all('type', 'image_url', 'detail'),
  input_file: all('type', 'file_data', 'file_url', 'filename'),
  input_audio: { type: true, input_audio: all('data', 'format') },
})
/** They identify an item that is stored. */
const ITEM = all('type', 'id', 'status')
const RESULT = { ...ITEM, call_id: true, output: PART } as const
const RESPONSES_TOOLS = {
  function: all('type', ...FUNCTION),
  // What is not enforced of a format is named with its position.
  custom: all('type', 'name', 'description', 'format'),
}
const RESPONSES_TOOL = byType({
  ...RESPONSES_TOOLS,
  namespace: { ...all('type', 'name', 'description'), tools: byType(RESPONSES_TOOLS) },
})

/** Of the body of a response. Items and tools that are left out whole are named with their positions. */
export const RESPONSES_MEMBERS: ReadMembers = {
  input: byType(
    {
      message: { ...ITEM, role: true, content: PART },
      function_call: { ...ITEM, ...all('call_id', 'namespace', 'name', 'arguments') },
      custom_tool_call: { ...ITEM, ...all('call_id', 'namespace', 'name', 'input') },
      function_call_output: RESULT,
      custom_tool_call_output: RESULT,
      reasoning: { ...ITEM, ...all('content', 'summary', 'encrypted_content') },
      additional_tools: { ...ITEM, role: true, tools: RESPONSES_TOOL },
      compaction: { ...ITEM, encrypted_content: true },
      compaction_summary: { ...ITEM, encrypted_content: true },
      compaction_trigger: ITEM,
    },
    'message',
  ),
  tools: RESPONSES_TOOL,
  tool_choice: all('type', 'namespace', 'name', 'mode', 'tools'),
  reasoning: all('effort'),
  text: all('format'),
  stream_options: {},
}
