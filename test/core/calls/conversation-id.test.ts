import { expect, test } from 'vitest'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import { conversationHash, readConversationId } from '../../../src/core/calls/conversation-id.ts'

const SESSION = '0f7a2b6e-5c1d-4f7e-9a54-0d3c2b1a9e88'

test.each([
  ['the header of a gateway', { 'x-session-id': 's-1' }, {}, 's-1'],
  ['the header of Codex', { session_id: SESSION }, {}, SESSION],
  ['a field of the body', {}, { session_id: 's-2' }, 's-2'],
  ['its metadata', {}, { metadata: { thread_id: 't-3' } }, 't-3'],
  ['the conversation of a response', {}, { conversation: { id: 'conv_4' } }, 'conv_4'],
  [
    "the user of Claude Code's metadata",
    {},
    { metadata: { user_id: `user_${'a'.repeat(64)}_account__session_${SESSION}` } },
    SESSION,
  ],
  [
    'the same as JSON',
    {},
    { metadata: { user_id: JSON.stringify({ device_id: 'd', session_id: SESSION }) } },
    SESSION,
  ],
  ['nothing', {}, { messages: [] }, undefined],
  ['no object', {}, 'text', undefined],
  ['a text that is no id', { 'x-session-id': 'words of a prompt' }, { session_id: 7 }, undefined],
  ['a text that is too long', {}, { session_id: 'x'.repeat(101) }, undefined],
])('the id of a conversation is read from %s', (_, headers, body, id) => {
  expect(readConversationId(headers, body)).toBe(id)
})

const hashOf = (messages: unknown[], more: Record<string, unknown> = {}, id?: string, account = 'acct_1') =>
  conversationHash(parseChatRequest({ messages, ...more }).content, id, account)
const system = { role: 'system', content: `Rules. ${'Be brief. '.repeat(1_000)}` }
const user = { role: 'user', content: 'Where is the yard?' }
const later = [user, { role: 'assistant', content: 'North.' }, { role: 'user', content: 'And the shed?' }]

test('without an id, a conversation is known by its system text and the first message of its user', () => {
  const hash = hashOf([system, user])
  expect(hashOf([system, ...later])).toBe(hash)
  expect(
    hashOf([{ ...system, content: `x-anthropic-billing-header: cch=7f;\n${system.content}` }, user]),
  ).toBe(hash)
  const others = [
    hashOf([system, { ...user, content: 'Where?' }]),
    hashOf([{ ...system, content: `${system.content} Really.` }, user]),
    hashOf([user]),
    hashOf([system, user], {}, undefined, 'acct_2'),
    hashOf([system, user], {}, 's-1'),
  ]
  expect(new Set([hash, ...others]).size).toBe(6)
})

test('the id of a client is its conversation, whatever its messages', () => {
  expect(hashOf([system, user], {}, 's-1')).toBe(hashOf([user], {}, 's-1'))
})
