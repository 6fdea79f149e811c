import { type TSchema, Type } from 'typebox'
import { PROVIDER_RESULTS } from '../../calls/makers-tools.ts'
import { optional } from '../request-fields.ts'

/**
 * The fields inside prompts, for the API's description only: code validates them, with its own order and error texts.
 */

const oneOf = (...words: string[]) => Type.Enum(words)
const textOr = (...alternatives: TSchema[]) => Type.Union([Type.String(), ...alternatives])
const partsOf = (...parts: TSchema[]) => Type.Array(Type.Union(parts), { minItems: 1 })

const FUNCTION_NAME = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })
const JsonSchema = Type.Object({}, { description: 'A JSON schema' })
const Address = Type.String({
  pattern: '^(https?://|data:)',
  description: 'A data URL, or an http or https URL',
})
const Base64 = Type.String({ description: 'Base64' })
const Detail = optional(oneOf('auto', 'low', 'high', 'original'))
const InputAudio = Type.Object({ data: Base64, format: Type.String({ description: 'Such as wav or mp3' }) })
const part = (type: string, fields: Record<string, TSchema>) =>
  Type.Object({ type: Type.Literal(type), ...fields })

const TextPart = part('text', { text: Type.String() })
const MEDIA_PARTS = [
  part('image_url', { image_url: Type.Union([Address, Type.Object({ url: Address, detail: Detail })]) }),
  part('video_url', { video_url: Type.Union([Address, Type.Object({ url: Address })]) }),
  part('input_audio', { input_audio: InputAudio }),
  part('file', { file: Type.Object({ file_data: Address, filename: optional(Type.String()) }) }),
]
const RefusalPart = part('refusal', { refusal: Type.String() })
const content = textOr(partsOf(TextPart, ...MEDIA_PARTS))
const answered = textOr(partsOf(TextPart, ...MEDIA_PARTS, RefusalPart), Type.Null())
const named = { name: optional(Type.String()) }

/** A message of POST /v1/chat/completions. */
const ChatMessage = Type.Union([
  Type.Object({ role: oneOf('system', 'user'), content, ...named }),
  Type.Object({ role: Type.Literal('assistant'), content: Type.Optional(answered), ...named }),
  Type.Object({ role: Type.Literal('tool'), content, tool_call_id: optional(Type.String()), ...named }),
])

const ToolCall = Type.Object({
  id: Type.String({ minLength: 1 }),
  type: optional(oneOf('function')),
  function: Type.Object({
    name: FUNCTION_NAME,
    arguments: optional(Type.String({ description: 'JSON' })),
  }),
})

/** A message of POST /v2/chat/completions. Each tool call needs one result in the tool messages right after it. */
const ExtendedMessage = Type.Union([
  Type.Object({ role: oneOf('system', 'developer', 'user'), content, ...named }),
  Type.Object({
    role: Type.Literal('assistant'),
    content: Type.Optional(answered),
    tool_calls: optional(Type.Array(ToolCall)),
    reasoning: optional(Type.String()),
    reasoning_details: optional(Type.Array(Type.Object({}), { description: 'As it was received' })),
    ...named,
  }),
  Type.Object({
    role: Type.Literal('tool'),
    content: textOr(partsOf(TextPart)),
    tool_call_id: Type.String({ minLength: 1 }),
    ...named,
  }),
])

/** A price in `provider.max_price`. */
const Price = Type.Unsafe({
  type: ['number', 'string', 'null'],
  minimum: 0,
  pattern: '^\\d{1,30}(\\.\\d{1,40})?$',
})

const source = (...alternatives: TSchema[]) =>
  Type.Union([
    part('base64', { media_type: Type.String(), data: Base64 }),
    part('url', { url: Address }),
    ...alternatives,
  ])
const NativeText = part('text', { text: Type.String() })
const NativeImage = part('image', { source: source() })
const NativeDocument = part('document', {
  source: source(
    part('text', { data: Type.String() }),
    part('content', { content: textOr(Type.Array(Type.Union([NativeText, NativeImage]))) }),
  ),
})
const SearchResult = part('search_result', { content: Type.Array(NativeText) })
const ToolReference = part('tool_reference', { tool_name: Type.String() })
const ToolResult = part('tool_result', {
  tool_use_id: Type.String(),
  content: Type.Optional(
    textOr(Type.Array(Type.Union([NativeText, NativeImage, NativeDocument, SearchResult, ToolReference]))),
  ),
})
const blocks = (...known: TSchema[]) => textOr(Type.Array(Type.Union(known)))

/** A message on the messages wire. */
const NativeMessage = Type.Union([
  Type.Object({
    role: Type.Literal('system'),
    content: blocks(
      NativeText,
      part('tool_addition', { tool: Type.Object({ type: Type.String() }) }),
      part('tool_removal', { tool: Type.Object({ type: Type.String() }) }),
    ),
  }),
  Type.Object({
    role: Type.Literal('user'),
    content: blocks(NativeText, NativeImage, NativeDocument, SearchResult, ToolResult),
  }),
  Type.Object({
    role: Type.Literal('assistant'),
    content: blocks(
      NativeText,
      part('thinking', { thinking: Type.String(), signature: Type.String() }),
      part('redacted_thinking', { data: Type.String() }),
      part('tool_use', { id: Type.String(), name: Type.String(), input: Type.Object({}) }),
      part('server_tool_use', { id: Type.String(), name: Type.String(), input: Type.Object({}) }),
      ...PROVIDER_RESULTS.map((type) =>
        part(type, { tool_use_id: Type.String(), content: Type.Unknown({ description: 'As it came' }) }),
      ),
      part('compaction', { content: optional(Type.String()) }),
    ),
  }),
])

const NativeSystem = textOr(Type.Array(NativeText), Type.Null())

/** A tool on the messages wire: the client's own, or one of the maker's. */
const NativeTool = Type.Union([
  Type.Object({
    type: optional(oneOf('custom')),
    name: Type.String({ minLength: 1 }),
    description: Type.Optional(Type.Unknown({ description: 'A text' })),
    input_schema: JsonSchema,
  }),
  Type.Object({
    type: Type.String({ description: 'Such as `bash_20250124`; under /v2 only' }),
    name: Type.String({ minLength: 1 }),
  }),
])

const InputText = part('input_text', { text: Type.String() })
const INPUT_PARTS = [
  InputText,
  part('input_image', { image_url: Address, detail: Detail }),
  part('input_file', { file_data: Address, filename: optional(Type.String()) }),
  part('input_audio', { input_audio: InputAudio }),
]
const OutputText = part('output_text', { text: Type.String() })

/** The input of POST /v1/responses. */
const ResponsesInput = Type.Union([
  Type.String({ minLength: 1 }),
  Type.Array(
    Type.Union([
      Type.Object({
        type: optional(oneOf('message')),
        role: oneOf('system', 'developer', 'user'),
        content: textOr(Type.Array(Type.Union(INPUT_PARTS))),
      }),
      Type.Object({
        type: optional(oneOf('message')),
        role: Type.Literal('assistant'),
        content: textOr(Type.Array(Type.Union([OutputText, ...INPUT_PARTS, RefusalPart]))),
      }),
      part('function_call', {
        call_id: Type.String({ minLength: 1 }),
        namespace: optional(Type.String()),
        name: FUNCTION_NAME,
        arguments: Type.String({ description: 'JSON' }),
      }),
      part('function_call_output', {
        call_id: Type.String({ minLength: 1 }),
        output: textOr(Type.Array(Type.Union([InputText, OutputText]))),
      }),
      part('custom_tool_call', {
        call_id: Type.String({ minLength: 1 }),
        namespace: optional(Type.String()),
        name: FUNCTION_NAME,
        input: Type.String(),
      }),
      part('custom_tool_call_output', {
        call_id: Type.String({ minLength: 1 }),
        output: textOr(Type.Array(Type.Union([InputText, OutputText]))),
      }),
      part('reasoning', {
        summary: Type.Optional(Type.Array(Type.Object({}))),
        encrypted_content: optional(Type.String({ description: 'As a response had it' })),
      }),
      part('compaction', { encrypted_content: Type.String({ description: 'As a response had it' }) }),
      part('compaction_trigger', {}),
    ]),
    { minItems: 1 },
  ),
])

const RESPONSES_TOOLS = [
  part('function', {
    name: FUNCTION_NAME,
    description: optional(Type.String()),
    parameters: optional(JsonSchema),
    strict: optional(Type.Boolean()),
  }),
  part('custom', {
    name: FUNCTION_NAME,
    description: optional(Type.String()),
    format: optional(
      Type.Union([
        part('text', {}),
        part('grammar', { syntax: oneOf('lark', 'regex'), definition: Type.String() }),
      ]),
    ),
  }),
]

/** A tool of POST /v1/responses. */
const ResponsesTool = Type.Union([
  ...RESPONSES_TOOLS,
  part('namespace', {
    name: Type.String({ minLength: 1 }),
    description: optional(Type.String()),
    tools: Type.Array(Type.Union(RESPONSES_TOOLS)),
  }),
])

const ResponsesToolChoice = Type.Union([
  oneOf('none', 'auto', 'required'),
  part('function', { namespace: optional(Type.String()), name: Type.String() }),
  part('custom', { namespace: optional(Type.String()), name: Type.String() }),
  part('allowed_tools', { mode: oneOf('auto', 'required'), tools: Type.Array(Type.Object({})) }),
  Type.Null(),
])

const TokenIds = Type.Array(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), {
  minItems: 1,
  maxItems: 32_768,
})

/** Texts or token ids whose vectors are asked for. */
const EmbeddingsInput = Type.Union([
  Type.String({ minLength: 1 }),
  Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 2_048 }),
  TokenIds,
  Type.Array(TokenIds, { minItems: 1, maxItems: 2_048 }),
])

const RerankDocument = Type.Union([
  Type.String({ minLength: 1 }),
  Type.Object({ text: Type.String({ minLength: 1 }) }),
])

const ImageUrl = Type.Object({ url: Type.String({ pattern: '^(https?://|data:image/)' }) })

/** The input of POST /v1/moderations. */
const ModerationsInput = Type.Union([
  Type.String(),
  Type.Array(Type.String(), { minItems: 1, maxItems: 2_048 }),
  Type.Array(Type.Union([TextPart, part('image_url', { image_url: ImageUrl })]), {
    minItems: 1,
    maxItems: 2_048,
  }),
])

const PROMPT_FIELDS: Readonly<Record<string, TSchema>> = {
  ChatMessage,
  ExtendedMessage,
  NativeMessage,
  NativeSystem,
  NativeTool,
  ResponsesInput,
  ResponsesTool,
  ResponsesToolChoice,
  EmbeddingsInput,
  RerankDocument,
  ModerationsInput,
  Price,
}

/** The description of what a request's schema names as `documented`. */
export function promptField(name: string): TSchema {
  const field = PROMPT_FIELDS[name]
  if (!field) throw new Error(`no description of the field ${name}`)
  return field
}
