import type { CompletionMessage, ToolCall } from './completion.ts'
import { isToolCall, type NativeBlock } from './messages-wire.ts'

/**
 * The message of a completion that was cut off, without incomplete tool calls, which a client would run as if they were
 * complete.
 */
export function withoutHalfCalls({ tool_calls: calls, ...message }: CompletionMessage): CompletionMessage {
  const whole = (calls ?? []).filter((call: ToolCall) => isJsonObject(call.function.arguments))
  const saysNothing = whole.length === 0 && message.refusal === undefined && !message.native
  return {
    ...message,
    content: saysNothing ? (message.content ?? '') : message.content,
    ...(whole.length > 0 && { tool_calls: whole }),
    ...(message.native && { native: message.native.filter(isWholeBlock) }),
  }
}

const isWholeBlock = (block: NativeBlock): boolean => !isToolCall(block) || isJsonObject(block.json)

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}
