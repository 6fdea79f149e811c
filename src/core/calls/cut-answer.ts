import type { CompletionMessage, ToolCall } from './completion.ts'
import type { NativeBlock } from './native-message.ts'

/**
 * An answer that was cut off, as it may be given whole: without the tool calls that were still being written. A client
 * would run half a call as if it were all of it.
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

const isWholeBlock = (block: NativeBlock): boolean => block.type !== 'tool_use' || isJsonObject(block.json)

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}
