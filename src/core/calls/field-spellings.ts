import { type Fields, isObject } from '../json/json-object.ts'
import { effortOfBudget, type GivenEffort } from './request-parameters.ts'

/**
 * Other spellings of what an extended chat request says, as client libraries of some providers and older ones write
 * them. All functions return what they get where it has none.
 */

/** The fields of a valid body that have other spellings. */
interface Spelled {
  messages: unknown[]
  tools?: object[] | null
  tool_choice?: unknown
  functions?: object[] | null
  function_call?: unknown
  reasoning_effort?: GivenEffort | null
  reasoning?: object | null
  thinking?: object | null
}

/** `functions` and `function_call`, which `tools` and `tool_choice` replaced, with the messages of their time. */
export function withToolsOfFunctions<Body extends Spelled>(body: Body): Body {
  const { functions, function_call: call } = body
  const messages = withToolCalls(body.messages)
  if (!functions?.length && messages === body.messages) return body
  const tools = (functions ?? []).map((definition) => ({ type: 'function', function: definition }))
  const choice = call != null && typeof call === 'object' ? { type: 'function', function: call } : call
  return {
    ...body,
    messages,
    ...(tools.length > 0 && { tools: [...(body.tools ?? []), ...tools] }),
    ...(tools.length > 0 && { tool_choice: body.tool_choice ?? choice }),
  }
}

/** Whether the client reads `function_call` in the completion. */
export const asksForFunctions = ({ functions, tools }: Spelled): boolean =>
  functions != null && functions.length > 0 && !tools?.length

const isOfFunctions = (message: unknown): message is Fields =>
  isObject(message) && (message.role === 'function' || isObject(message.function_call))

/** A call of a turn has no id, and its result is the next message of the role `function`. */
function withToolCalls(messages: unknown[]): unknown[] {
  if (!messages.some(isOfFunctions)) return messages
  let id = ''
  return messages.map((message, index) => {
    if (!isOfFunctions(message)) return message
    const { function_call: call, ...rest } = message
    if (message.role === 'function') return { ...rest, role: 'tool', tool_call_id: id }
    if (message.tool_calls != null || message.role !== 'assistant') return message
    id = `call_${index}`
    return { ...rest, tool_calls: [{ id, type: 'function', function: call }] }
  })
}

/**
 * A message whose parts are those of the wire: thinking is in `reasoning`, a document is a file. A turn of the assistant
 * may have no parts.
 */
export function withStandardParts(message: unknown): unknown {
  if (!isObject(message) || !Array.isArray(message.content)) return message
  if (message.role !== 'assistant')
    return message.content.some(isDocument)
      ? { ...message, content: message.content.map(fileOfDocument) }
      : message
  if (message.content.length === 0) return { ...message, content: null }
  const thoughts = message.content.filter(isThinking)
  if (thoughts.length === 0) return message
  const content = message.content.filter((part) => !isThinking(part))
  const reasoning = thoughts.flatMap(textsOfThinking).join('')
  return { ...message, reasoning, content: content.length > 0 ? content : null }
}

const isThinking = (part: unknown): part is Fields => isObject(part) && part.type === 'thinking'

const isDocument = (part: unknown): part is Fields => isObject(part) && part.type === 'document_url'

function fileOfDocument(part: unknown): unknown {
  if (!isDocument(part)) return part
  const { document_url: document, document_name: filename } = part
  const url = isObject(document) ? document.url : document
  return { type: 'file', file: { file_data: url, ...(typeof filename === 'string' && { filename }) } }
}

function textsOfThinking({ thinking }: Fields): string[] {
  const parts = Array.isArray(thinking) ? thinking : [{ text: thinking }]
  return parts.flatMap((part) => (isObject(part) && typeof part.text === 'string' ? part.text : []))
}

/** The effort that a request asks for in any of its fields. */
export const effortAsked = ({ reasoning_effort, reasoning, thinking }: Spelled): GivenEffort | undefined =>
  reasoning_effort ?? effortOf(reasoning) ?? effortOf(thinking)

/** Of `reasoning: {effort, max_tokens, enabled}`, or of `thinking: {type, budget_tokens}`. */
function effortOf(given: object | null | undefined): GivenEffort | undefined {
  if (given == null) return undefined
  const { effort, enabled, max_tokens, type, budget_tokens } = given as Fields
  if (effort != null) return effort as GivenEffort
  if (enabled === false || type === 'disabled') return 'none'
  const budget = max_tokens ?? budget_tokens
  if (typeof budget === 'number') return effortOfBudget(budget)
  return enabled === true || type === 'enabled' || type === 'adaptive' ? 'medium' : undefined
}
