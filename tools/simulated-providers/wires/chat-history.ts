import { isObject } from '../simulated-request.ts'

type Fields = Record<string, unknown>

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool'])
const MESSAGE_FIELDS = new Set([
  'role',
  'content',
  'name',
  'tool_call_id',
  'tool_calls',
  'refusal',
  'prefix',
  'partial',
])

/**
 * Whether strict servers of the chat-completions wire take these messages: known roles and fields only, no
 * assistant's turn that says and calls nothing, and tool messages just where they answer the calls of the
 * assistant's turn before them, every call once.
 */
export function isHistory(messages: unknown): messages is Fields[] {
  if (!Array.isArray(messages) || messages.length === 0) return false
  const unanswered = new Set<unknown>()
  for (const message of messages) {
    if (!isObject(message) || !isMessage(message)) return false
    if (message.role === 'tool') {
      if (!unanswered.delete(message.tool_call_id)) return false
      continue
    }
    if (unanswered.size > 0) return false
    for (const call of callsOf(message)) unanswered.add(isObject(call) ? call.id : undefined)
  }
  return unanswered.size === 0
}

const callsOf = ({ tool_calls: calls }: Fields): unknown[] => (Array.isArray(calls) ? calls : [])

function isMessage(message: Fields): boolean {
  const { role, content } = message
  if (typeof role !== 'string' || !ROLES.has(role)) return false
  if (!Object.keys(message).every((field) => MESSAGE_FIELDS.has(field))) return false
  if (message.tool_call_id !== undefined && role !== 'tool') return false
  if (role === 'assistant' && callsOf(message).length > 0) return true
  const isText = typeof content === 'string' && (role !== 'assistant' || content.trim() !== '')
  return isText || (Array.isArray(content) && content.length > 0)
}
