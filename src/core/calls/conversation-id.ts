import { crc32 } from 'node:zlib'
import { isObject } from '../json/json-object.ts'
import type { ChatMessage } from './chat-request.ts'
import { type CallContent, messagesOf, parametersOf } from './kinds/call-kinds.ts'
import { withoutBillingLine } from './messages-content.ts'

/** The headers in which clients send the id of a conversation: gateways' own, Claude Code's and Codex's. */
const HEADERS = ['x-session-id', 'x-claude-code-session-id', 'session_id', 'session-id', 'conversation_id']
/** The fields of a body, or of its `metadata`, that name a conversation. */
const FIELDS = ['conversation_id', 'session_id', 'thread_id'] as const
/** Claude Code's `metadata.user_id`: of the user, the account and the session. */
const SESSION_OF_USER = /session_(?:id"\s*:\s*")?([0-9a-f]{8}-[0-9a-f-]{27})/
const ID = /^[\w.:@/-]{1,100}$/

/**
 * The client's id of the conversation that a call belongs to, for traces; undefined if it sent none. An id is one short
 * word, so that no text of a prompt is taken for one.
 */
export function readConversationId(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: unknown,
): string | undefined {
  const sent = isObject(body) ? body : {}
  const metadata = isObject(sent.metadata) ? sent.metadata : {}
  const { conversation } = sent
  const { user_id: user } = metadata
  const candidates = [
    ...HEADERS.map((name) => headers[name]),
    isObject(conversation) ? conversation.id : conversation,
    ...FIELDS.flatMap((name) => [sent[name], metadata[name]]),
    typeof user === 'string' ? SESSION_OF_USER.exec(user)?.[1] : undefined,
  ]
  return candidates.find((id): id is string => typeof id === 'string' && ID.test(id))
}

/**
 * The hash of a call's conversation within its account: of the client's id of it, else of its `prompt_cache_key`, else of
 * the text before the first turn of the assistant that every later call repeats: that of the system, and the user's first.
 * Undefined if it has no messages. Two conversations with one hash share an offer, which costs at most a cached prefix.
 */
export function conversationHash(
  content: CallContent,
  id: string | undefined,
  accountId: string,
): number | undefined {
  const named = id ?? parametersOf(content).passed?.prompt_cache_key
  if (named !== undefined) return crc32(named, crc32(accountId))
  const messages = messagesOf(content)
  const user = messages.findIndex(({ role }) => role === 'user')
  if (user < 0) return undefined
  let hash = crc32(accountId)
  for (const message of [messages[0]!, messages[user]!]) hash = crc32(sampleOf(message), hash)
  return hash
}

/** So much is read at either end of a text. */
const SAMPLE_CHARS = 512

/** The start, the end and the length of a message's text, so that a long one costs no more than a short one. */
function sampleOf({ content }: ChatMessage): string {
  const texts =
    typeof content === 'string'
      ? [content]
      : content.map((part) => (part.type === 'text' ? part.text : part.type))
  const [first = '', ...others] = texts
  const read = [withoutBillingLine(first), ...others.slice(-1)]
  return read
    .map(
      (text) =>
        `${text.length} ${text.slice(0, SAMPLE_CHARS)}${text.slice(SAMPLE_CHARS).slice(-SAMPLE_CHARS)}`,
    )
    .join(' ')
}
