import { isObject } from '../json/json-object.ts'

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
