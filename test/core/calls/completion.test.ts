import { expect, test } from 'vitest'
import { CompletionBuilder, type ToolCallDelta } from '../../../src/core/calls/completion.ts'
import { sizeOf } from '../../../src/core/calls/frames.ts'

const callsOf = (deltas: ToolCallDelta[]) => {
  const builder = new CompletionBuilder()
  builder.add(['tool-calls', deltas])
  return builder.message().tool_calls ?? []
}

test('interleaved deltas become whole calls in the order of their index', () => {
  const calls = callsOf([
    { index: 1, id: 'b', type: 'function', function: { name: 'second', arguments: '{' } },
    { index: 0, id: 'a', type: 'function', function: { name: 'first', arguments: '' } },
    { index: 1, function: { arguments: '}' } },
    { index: 0, function: { name: 'first', arguments: '{"x":1}' } },
  ])
  expect(calls).toEqual([
    { id: 'a', type: 'function', function: { name: 'first', arguments: '{"x":1}' } },
    { id: 'b', type: 'function', function: { name: 'second', arguments: '{}' } },
  ])
})

test('an id the provider left out is numbered', () => {
  expect(callsOf([{ index: 2, function: { name: 'f', arguments: '{}' } }])[0]?.id).toBe('call_2')
})

test('reasoning is no answer, and keeps an answer from being compared as text', () => {
  const builder = new CompletionBuilder()
  builder.add(['reasoning', 'Hm'])
  builder.add(['reasoning', '.'])
  expect(builder).toMatchObject({ isEmpty: false, isTextOnly: false, hasContent: false })
  builder.add(['text', 'Hi'])
  const token = { token: 'Hi', logprob: -1, bytes: null, top_logprobs: [] }
  builder.add(['logprobs', [token]])
  expect(builder.hasContent).toBe(true)
  expect(builder.message()).toEqual({ content: 'Hi', reasoning: 'Hm.', logprobs: [token] })
})

test('a refusal is kept from being repeated by another model', () => {
  const builder = new CompletionBuilder()
  builder.add(['text', 'Hi'])
  expect(builder.isRepeatable).toBe(true)
  builder.add(['refusal', 'I can'])
  expect(builder.isRepeatable).toBe(false)
})

test('annotations come once in the message, and are no text', () => {
  const [one, other] = [{ type: 'url_citation' }, { type: 'file' }]
  const builder = new CompletionBuilder()
  builder.add(['text', 'Hi'])
  builder.add(['annotations', [one]])
  builder.add(['annotations', [other]])
  expect(builder).toMatchObject({ content: 'Hi', isTextOnly: false })
  expect(builder.message()).toEqual({ content: 'Hi', annotations: [one, other] })
})

test('the size of a frame counts annotations', () => {
  const annotations = [{ type: 'file', file: { name: 'x'.repeat(5_000) } }]
  expect(sizeOf(['annotations', annotations])).toBeGreaterThan(5_000)
  expect(sizeOf(['completion', 0, { content: '', annotations }, 'stop', null])).toBeGreaterThan(5_000)
})

test('the size of a frame counts reasoning and log probabilities', () => {
  const tokens = Array.from({ length: 100 }, () => ({
    token: 'Hello',
    logprob: -1.234_567,
    bytes: [72, 101, 108, 108, 111],
    top_logprobs: [{ token: 'Hello', logprob: -1.234_567, bytes: [72, 101, 108, 108, 111] }],
  }))
  const message = { content: '', reasoning: 'x'.repeat(5_000), logprobs: tokens }
  for (const frame of [['logprobs', tokens] as const, ['completion', 0, message, 'stop', null] as const]) {
    const { length } = JSON.stringify(frame)
    expect(sizeOf(frame)).toBeGreaterThan(length / 2)
    expect(sizeOf(frame)).toBeLessThan(length * 2)
  }
})
