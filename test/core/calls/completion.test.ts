import { expect, test } from 'vitest'
import { assembleToolCalls } from '../../../src/core/calls/completion.ts'

test('interleaved deltas become whole calls in the order of their index', () => {
  const calls = assembleToolCalls([
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
  expect(assembleToolCalls([{ index: 2, function: { name: 'f', arguments: '{}' } }])[0]?.id).toBe('call_2')
})
