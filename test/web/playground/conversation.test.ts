import { describe, expect, test } from 'vitest'
import { NO_SETTINGS } from '../../../web/lib/playground/chat-settings.ts'
import { type Completion, WAITING, withPart } from '../../../web/lib/playground/completion.ts'
import {
  type Conversation,
  changeLast,
  chatBody,
  continued,
  isBusy,
  newConversation,
  resumed,
  titleOf,
  waitsForTools,
  withLane,
  withoutTurns,
  withTurn,
} from '../../../web/lib/playground/conversation.ts'
import { beyondBounds } from '../../../web/lib/playground/history-bounds.ts'

const FIRST = { turn: 0, lane: 0 }
const said = (text: string): Completion => ({ ...WAITING, phase: 'done', text })
const CALL = { id: 'call_1', name: 'sort', arguments: '{"by":"weight"}' }
const calling: Completion = {
  ...said(''),
  toolCalls: [{ ...CALL, result: null }],
  finishReason: 'tool_calls',
}

const started = (models = ['acme/swift'], text = 'First?'): Conversation =>
  withTurn(newConversation('one', { ...NO_SETTINGS, models }, 1), 'turn-1', { text, images: [] })

const answered = (conversation: Conversation, completion: Completion, place = FIRST) =>
  withLane(
    conversation,
    place,
    changeLast(() => completion),
  )

describe('a conversation', () => {
  test('sends the system prompt, what was said and what this model answered', () => {
    const first = answered(started(), said('One.'))
    const second = withTurn(
      { ...first, settings: { ...first.settings, system: 'Be brief.', temperature: '0.5' } },
      'turn-2',
      { text: 'Second?', images: ['data:image/png;base64,AA=='] },
    )
    expect(chatBody(second, { turn: 1, lane: 0 })).toEqual({
      model: 'acme/swift',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'First?' },
        { role: 'assistant', content: 'One.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Second?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
          ],
        },
      ],
      temperature: 0.5,
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  test('gives each model its own answers, and one that came later those of the first', () => {
    const first = answered(answered(started(['a', 'b']), said('A.')), said('B.'), { turn: 0, lane: 1 })
    const settings = { ...first.settings, models: ['b', 'c'] }
    const second = withTurn({ ...first, settings }, 'turn-2', { text: 'Second?', images: [] })
    const heard = (lane: number) =>
      (chatBody(second, { turn: 1, lane }).messages as Array<{ content: string }>)[1]?.content
    expect([heard(0), heard(1)]).toEqual(['B.', 'B.'])
    const withNew = withTurn({ ...first, settings: { ...first.settings, models: ['c'] } }, 'turn-2', {
      text: 'Second?',
      images: [],
    })
    expect((chatBody(withNew, { turn: 1, lane: 0 }).messages as object[])[1]).toMatchObject({ content: 'A.' })
  })

  test('sends results of tools after the calls they answer, and waits until they are there', () => {
    const waiting = answered(started(), calling)
    expect(waitsForTools(waiting)).toBe(true)
    const going = withLane(waiting, FIRST, continued(['{"done":true}']))
    expect(waitsForTools(going)).toBe(false)
    expect(isBusy(going)).toBe(true)
    expect(chatBody(going, FIRST).messages).toEqual([
      { role: 'user', content: 'First?' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'sort', arguments: CALL.arguments } },
        ],
      },
      { role: 'tool', content: '{"done":true}', tool_call_id: 'call_1' },
    ])
  })

  test('leaves out answers that say nothing, and keeps what a stopped one said', () => {
    const messagesAfter = (completion: Completion) =>
      chatBody(withTurn(answered(started(), completion), 'turn-2', { text: 'Second?', images: [] }), {
        turn: 1,
        lane: 0,
      }).messages
    expect(messagesAfter({ ...WAITING, phase: 'failed', error: 'No.' })).toHaveLength(2)
    expect(messagesAfter({ ...calling, phase: 'stopped' })).toHaveLength(2)
    expect(messagesAfter({ ...said('Half'), phase: 'stopped' })).toHaveLength(3)
  })

  test('is never found running again, and is shortened to be said otherwise', () => {
    const running = answered(started(), { ...WAITING, phase: 'streaming', text: 'Ha' })
    expect(isBusy(running)).toBe(true)
    expect(isBusy(resumed(running))).toBe(false)
    expect(resumed(running).turns[0]?.lanes[0]?.answers[0]).toMatchObject({ phase: 'stopped', text: 'Ha' })
    expect(withoutTurns(running, 0).turns).toEqual([])
  })

  test('is titled by its beginning', () => {
    expect(titleOf(started([], `  Why\n${'very '.repeat(30)}long?`))).toMatch(/^Why very .{51}…$/)
  })
})

describe('an answer', () => {
  test('joins text and the pieces of tool calls, and knows when the first came', () => {
    const callId = 'chatcmpl_1'
    const completion = (
      [
        { kind: 'reasoning', text: 'Hm.', callId },
        { kind: 'text', text: 'Yes', callId },
        {
          kind: 'tool-calls',
          calls: [{ index: 0, id: 'call_1', name: 'sort', arguments: '{"by":' }],
          callId,
        },
        { kind: 'tool-calls', calls: [{ index: 0, arguments: '"weight"}' }], callId },
        { kind: 'finish', reason: 'tool_calls', callId },
      ] as const
    ).reduce<Completion>((before, part, index) => withPart(before, part as never, 100 + index), WAITING)
    expect(completion).toMatchObject({
      text: 'Yes',
      reasoning: 'Hm.',
      callId,
      firstTokenMs: 100,
      toolCalls: [{ ...CALL, result: null }],
      finishReason: 'tool_calls',
    })
  })
})

test('the history is bounded by number and by size, and drops the oldest', () => {
  const kept = (id: number, text = '') => ({ ...started([], text), id: String(id), updatedAt: -id })
  const many = Array.from({ length: 52 }, (_, id) => kept(id))
  expect(beyondBounds(many)).toEqual(['50', '51'])
  expect(beyondBounds([kept(0), kept(1, 'x'.repeat(41_000_000)), kept(2)])).toEqual(['1', '2'])
})
