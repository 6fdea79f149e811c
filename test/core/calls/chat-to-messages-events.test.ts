import { expect, test } from 'vitest'
import { NativeEvents, nativeBlocks, nativeStop } from '../../../src/core/calls/chat-to-messages-events.ts'
import { type ChatDelta, CompletionBuilder, type ToolCallDelta } from '../../../src/core/calls/completion.ts'
import { type NativeEvent, NativeMessageBuilder } from '../../../src/core/calls/messages-wire.ts'

const start = (index: number, name: string): ChatDelta => [
  'tool-calls',
  [{ index, id: `call_${name}`, type: 'function', function: { name, arguments: '' } }],
]
const args = (index: number, text: string): ChatDelta => [
  'tool-calls',
  [{ index, function: { arguments: text } }],
]

function convert(deltas: readonly ChatDelta[]) {
  const events = new NativeEvents(JSON.stringify)
  const all = [...deltas.flatMap((delta) => events.add(delta)), ...events.end()]
  const builder = new NativeMessageBuilder()
  for (const event of all) builder.add(event)
  return { events: all, blocks: builder.content, callsTools: events.callsTools }
}

/** Each block as it is opened, continued and ended: `0+ 0 0- 1+`. */
const shape = (events: readonly NativeEvent[]) =>
  events
    .map((event) => {
      if (event.type === 'message_start') return 'm'
      const mark = { content_block_start: '+', content_block_delta: '', content_block_stop: '-' }[event.type]
      return `${event.index}${mark}`
    })
    .join(' ')

const ORDERS: Record<string, readonly ChatDelta[]> = {
  'one after another': [
    ['reasoning', 'Hm'],
    ['reasoning', '.'],
    ['text', 'I look.'],
    start(0, 'a'),
    args(0, '{"x":'),
    args(0, '1}'),
    start(1, 'b'),
    args(1, '{}'),
  ],
  'at the same time': [
    ['reasoning', 'Hm.'],
    ['text', 'I look.'],
    start(0, 'a'),
    start(1, 'b'),
    args(0, '{"x":'),
    args(1, '{}'),
    args(0, '1}'),
    args(1, ''),
    args(0, ''),
  ],
}

test.each(Object.entries(ORDERS))('blocks come one after another where calls come %s', (_, deltas) => {
  const { events, blocks, callsTools } = convert(deltas)
  expect(callsTools).toBe(true)
  expect(shape(events).replaceAll(/(\b\d)( \1)+(?= \1-)/g, '$1')).toBe('0+ 0 0- 1+ 1 1- 2+ 2 2- 3+ 3 3-')
  expect(blocks).toEqual([
    { type: 'thinking', thinking: 'Hm.', signature: '' },
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', id: 'call_a', name: 'a', json: '{"x":1}' },
    { type: 'tool_use', id: 'call_b', name: 'b', json: '{}' },
  ])
  const whole = new CompletionBuilder()
  for (const delta of deltas) whole.add(delta)
  expect(nativeBlocks(whole.message(), JSON.stringify)).toEqual(blocks)
})

test('calls without arguments are all there, and a completion without content has no block', () => {
  const twoCalls: ToolCallDelta[] = [0, 1].map((index) => ({
    index,
    id: `call_${index}`,
    function: { name: 'f' },
  }))
  expect(convert([['tool-calls', twoCalls]]).blocks).toMatchObject([{ id: 'call_0' }, { id: 'call_1' }])
  expect(convert([]).events).toEqual([])
  expect(nativeBlocks({ content: '' }, JSON.stringify)).toEqual([])
})

test('a refusal is text, and every finish reason has a stop reason of the wire', () => {
  expect(convert([['refusal', 'No.']]).blocks).toEqual([{ type: 'text', text: 'No.' }])
  const reasons = ['stop', 'length', 'tool_calls', 'content_filter'] as const
  expect(reasons.map((reason) => nativeStop(reason, false).stop_reason)).toEqual([
    'end_turn',
    'max_tokens',
    'tool_use',
    'refusal',
  ])
  expect(nativeStop('stop', true).stop_reason).toBe('tool_use')
})
