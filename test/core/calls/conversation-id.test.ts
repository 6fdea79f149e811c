import { expect, test } from 'vitest'
import { readConversationId } from '../../../src/core/calls/conversation-id.ts'

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
