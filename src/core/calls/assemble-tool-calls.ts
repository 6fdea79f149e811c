import type { ToolCall, ToolCallDelta } from './completion.ts'

/**
 * Puts streamed tool-call deltas together into whole calls, ordered by index. Ids a provider left out are
 * numbered, since clients need one to answer.
 */
export function assembleToolCalls(deltas: readonly ToolCallDelta[]): ToolCall[] {
  const calls = new Map<number, ToolCall>()
  for (const delta of deltas) {
    let call = calls.get(delta.index)
    if (!call) {
      call = { id: '', type: 'function', function: { name: '', arguments: '' } }
      calls.set(delta.index, call)
    }
    if (delta.id !== undefined) call.id = delta.id
    // A name is sent whole, but some providers repeat it with every delta.
    if (delta.function?.name) call.function.name = delta.function.name
    if (delta.function?.arguments !== undefined) call.function.arguments += delta.function.arguments
  }
  return [...calls.entries()]
    .sort(([a], [b]) => a - b)
    .map(([index, call]) => ({ ...call, id: call.id || `call_${index}` }))
}
