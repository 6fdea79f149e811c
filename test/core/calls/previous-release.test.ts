import { describe, expect, test } from 'vitest'
import { readBody, writeBody } from '../../../src/core/calls/call-body.ts'
import type { CallContent } from '../../../src/core/calls/kinds/call-kinds.ts'
import { resultOf } from '../../../src/core/calls/previous-release.ts'

describe('a body that the release before sealed is read', () => {
  test('of a chat', () => {
    const body =
      '{"messages":[{"role":"user","content":"Hi"}],"parameters":{"temperature":0.5,"tools":[{"type":"function"}]},"exactJson":{"tools":"[{\\"type\\":\\"function\\"}]"}}'
    expect(readBody(body)).toEqual({
      kind: 'chat',
      messages: [{ role: 'user', content: 'Hi' }],
      parameters: { temperature: 0.5, tools: [{ type: 'function' }] },
      exactJson: { tools: '[{"type":"function"}]' },
    })
  })

  test('of a native call', () => {
    const body = '{"native":{"messages":[{"role":"user","content":"Hi"}],"temperature":1}}'
    expect(readBody(body)).toEqual({
      kind: 'native',
      request: { messages: [{ role: 'user', content: 'Hi' }], temperature: 1 },
      messages: [{ role: 'user', content: 'Hi' }],
      parameters: { temperature: 1 },
    })
  })

  test('of a task', () => {
    const body =
      '{"messages":[],"parameters":{},"task":{"kind":"embeddings","input":["one"],"encoding":"float"}}'
    expect(readBody(body)).toEqual({ kind: 'embeddings', input: ['one'], encoding: 'float' })
  })
})

test('a result that the release before sent or kept as the text of a message is read', () => {
  expect(resultOf({ content: '[{"object":"embedding"}]' })).toBe('[{"object":"embedding"}]')
  expect(resultOf({ content: null, result: '[1]' })).toBe('[1]')
})

test.each<CallContent>([
  { kind: 'chat', messages: [{ role: 'user', content: 'Hi' }], parameters: { stop: ['x'] } },
  {
    kind: 'native',
    request: { messages: [{ role: 'user', content: 'Hi' }] },
    messages: [{ role: 'user', content: 'Hi' }],
    parameters: {},
  },
  { kind: 'rerank', query: 'q', documents: ['a'], returnDocuments: false },
])('a body of this release is read as it was written: $kind', (content) => {
  expect(readBody(writeBody(content))).toEqual(content)
})
