import { expect, test } from 'vitest'
import { promptTexts } from '../../../src/core/guardrails/prompt-texts.ts'

const shown = (body: object) => promptTexts(body).map(({ text }) => text)

test.each<[wire: string, body: object, texts: string[]]>([
  [
    'chat',
    {
      model: 'one',
      user: 'u1',
      messages: [
        { role: 'system', content: 'be kind' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'what is this' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'find', arguments: '{"name":"Ann"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'she lives here' },
      ],
      tools: [{ type: 'function', function: { name: 'find', description: 'finds people' } }],
    },
    ['be kind', 'what is this', '{"name":"Ann"}', 'she lives here'],
  ],
  [
    'messages',
    {
      system: [{ type: 'text', text: 'be kind', cache_control: { type: 'ephemeral', ttl: '5m' } }],
      messages: [
        { role: 'user', content: 'hello' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
            { type: 'tool_use', id: 't1', name: 'find', input: { name: 'Ann', url: 'her.example' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'found' }] },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a letter' } },
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } },
          ],
        },
      ],
    },
    ['be kind', 'hello', 'hm', 'Ann', 'her.example', 'found', 'a letter'],
  ],
  [
    'responses',
    {
      instructions: 'be kind',
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
        { type: 'function_call', call_id: 'c1', name: 'find', arguments: '{"name":"Ann"}' },
        { type: 'function_call_output', call_id: 'c1', output: 'found' },
        { type: 'reasoning', id: 'r1', encrypted_content: 'AAAA', summary: [] },
      ],
    },
    ['be kind', 'hello', '{"name":"Ann"}', 'found'],
  ],
  ['embeddings', { input: ['one', 'two'] }, ['one', 'two']],
  ['rerank', { query: 'who', documents: ['one', { text: 'two' }] }, ['who', 'one', 'two']],
  ['token ids', { input: [[1, 2]] }, []],
  ['a form', { model: ['whisper'], prompt: ['names'] }, ['names']],
])('all texts of a prompt are shown, and nothing else: %s', (_wire, body, texts) => {
  expect(shown(body)).toEqual(texts)
})

test('a text is replaced where it stands, and signed reasoning cannot be', () => {
  const body = {
    messages: [
      { role: 'user', content: 'call Ann' },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Ann', signature: 'c2ln' }] },
    ],
  }
  const [first, signed] = promptTexts(body)
  first!.replace!('call <PERSON>')
  expect(body.messages[0]!.content).toBe('call <PERSON>')
  expect(signed).not.toHaveProperty('replace')
})
