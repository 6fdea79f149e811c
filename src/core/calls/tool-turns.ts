import { invalid } from '../kernel/errors.ts'
import type { ChatMessage } from './chat-request.ts'
import type { ContentPart } from './content-part.ts'

/**
 * Checks that the tool messages right after an assistant's turn have exactly one result for each of its calls.
 * Throws ApiError `invalid_request`.
 * @param param the field that errors name; absent: the path of the message
 */
export function checkPairs(messages: readonly ChatMessage[], param?: string): void {
  /** The paths of the calls without a result yet, by id. */
  const open = new Map<string, string>()
  const refuseOpen = () => {
    for (const [id, path] of open)
      throw invalid(param ?? path, `The tool call ${id} has no result in the turn after it.`)
  }
  for (const [index, message] of messages.entries()) {
    const { role, tool_calls: calls, tool_call_id: id } = message
    if (role === 'tool') {
      if (open.delete(id!)) continue
      throw invalid(
        param ?? `messages[${index}].tool_call_id`,
        `The assistant's turn before this message has no tool call ${id} without a result.`,
      )
    }
    if (!continuesTurn(messages[index - 1], message)) refuseOpen()
    for (const [position, call] of (calls ?? []).entries()) {
      const path = `messages[${index}].tool_calls[${position}].id`
      if (open.has(call.id))
        throw invalid(param ?? path, `Two tool calls of one turn have the id ${call.id}.`)
      open.set(call.id, path)
    }
  }
  refuseOpen()
}

/** Whether a message is of the same turn as the one before: some libraries write one message for each call. */
const continuesTurn = (before: ChatMessage | undefined, message: ChatMessage): boolean =>
  message.role === 'assistant' && before?.tool_calls !== undefined

/** The messages, with one for each turn that calls tools, as providers demand. */
export function joinTurns(messages: ChatMessage[]): ChatMessage[] {
  const joined: ChatMessage[] = []
  for (const message of messages) {
    const before = joined.at(-1)
    if (continuesTurn(before, message)) joined[joined.length - 1] = joinedTurn(before!, message)
    else joined.push(message)
  }
  return joined.length === messages.length ? messages : joined
}

function joinedTurn(one: ChatMessage, other: ChatMessage): ChatMessage {
  const reasoning = [one.reasoning, other.reasoning].filter((text) => text !== undefined).join('\n\n')
  const calls = [...(one.tool_calls ?? []), ...(other.tool_calls ?? [])]
  const signed = [...(one.signed ?? []), ...(other.signed ?? [])]
  return {
    ...one,
    content: joinedContent(one.content, other.content),
    tool_calls: calls,
    ...(reasoning !== '' && { reasoning }),
    ...(signed.length > 0 && { signed }),
  }
}

function joinedContent(one: ChatMessage['content'], other: ChatMessage['content']): ChatMessage['content'] {
  if (typeof one === 'string' && typeof other === 'string')
    return [one, other].filter((text) => text !== '').join('\n\n')
  return [one, other].flatMap((content): ContentPart[] => {
    if (typeof content !== 'string') return [...content]
    return content === '' ? [] : [{ type: 'text', text: content }]
  })
}
