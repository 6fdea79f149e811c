import { describe, expect, test, vi } from 'vitest'
import { LimitGuard } from '../../../../src/calls/worker/attempts/limit-guard.ts'
import { CompletionBuilder, type Delta, type Progress } from '../../../../src/core/calls/completion.ts'
import type { NativeEvent } from '../../../../src/core/calls/messages-wire.ts'

const LIMIT = 100
/** Twice the limit and 64 tokens, of 8 bytes each. */
const ANSWER_BYTES = (2 * LIMIT + 64) * 8
const REASONING_BYTES = ANSWER_BYTES + 32_768 * 8

function guarded() {
  const passed: Progress[] = []
  const stop = vi.fn()
  const guard = new LimitGuard(LIMIT, (progress) => passed.push(progress), stop)
  const message = () => {
    const builder = new CompletionBuilder()
    for (const progress of passed) if (progress[0] !== 'thinking') builder.add(progress)
    return builder.message()
  }
  return { guard, passed, stop, message }
}

describe('an answer within its limit', () => {
  test.each([
    ['English', 'The signalman pulled the lever. '.repeat(16)],
    ['Tamil, of many bytes a token', 'ரயில்வே முற்றம் அமைதியாக இருந்தது. '.repeat(8)],
    ['Chinese', '清晨的铁路货场一片寂静。'.repeat(12)],
  ])('passes as it is: %s', (_, text) => {
    const { guard, stop, message } = guarded()
    for (const character of text) guard.push(['text', character])
    expect(message().content).toBe(text)
    expect(guard.isOver).toBe(false)
    expect(stop).not.toHaveBeenCalled()
  })

  test('may reason much longer than it answers: some providers count that apart', () => {
    const { guard, stop } = guarded()
    guard.push(['thinking', 100_000])
    guard.push(['reasoning', 'x'.repeat(100_000)])
    guard.push(['text', 'x'.repeat(ANSWER_BYTES)])
    expect([guard.isOver, stop.mock.calls.length]).toEqual([false, 0])
  })
})

describe('an answer past its limit', () => {
  test('in pieces is stopped once, and nothing is passed on any more', () => {
    const { guard, stop, message } = guarded()
    for (let piece = 0; piece < 10_000; piece++) guard.push(['text', ' word'])
    expect(guard.isOver).toBe(true)
    expect(stop).toHaveBeenCalledOnce()
    expect(message().content).toHaveLength(ANSWER_BYTES)
  })

  test('in one piece is passed on up to the margin, without half a character', () => {
    const { guard, message } = guarded()
    guard.push(['text', `a${'漢'.repeat(100_000)}`])
    const { content } = message()
    expect(content).toMatch(/^a漢+$/)
    expect(Buffer.byteLength(content!)).toBe(ANSWER_BYTES - ((ANSWER_BYTES - 1) % 3))
  })

  test('of tool calls has the piece that exceeds it whole, and none after it, also where they are empty', () => {
    const call = (index: number, json: string) => ({
      index,
      id: `call_${index}`,
      function: { name: 'f', arguments: json },
    })
    const whole = guarded()
    whole.guard.push(['tool-calls', [call(0, '{}'), call(1, 'x'.repeat(100_000))]])
    expect(whole.guard.isOver).toBe(false)
    whole.guard.push(['tool-calls', [call(2, '{}')]])
    expect(whole.guard.isOver).toBe(true)
    const calls = whole.message().tool_calls!
    expect(calls.map(({ function: called }) => called.arguments.length)).toEqual([2, 100_000])

    const empty = guarded()
    for (let delta = 0; delta < 10_000; delta++) empty.guard.push(['tool-calls', [{ index: 0 }]])
    expect(empty.guard.isOver).toBe(true)
    expect(empty.passed.length).toBeLessThanOrEqual(ANSWER_BYTES + 1)
  })

  test.each<[string, () => Progress, number]>([
    ['hidden reasoning', () => ['thinking', 1_000], REASONING_BYTES / 1_000],
    ['shown reasoning', () => ['reasoning', 'x'.repeat(1_000)], REASONING_BYTES / 1_000],
    ['refusals', () => ['refusal', 'x'.repeat(1_000)], ANSWER_BYTES / 1_000],
    [
      'log probabilities',
      () => ['logprobs', [{ token: 'a', logprob: 0, bytes: null, top_logprobs: [] }]],
      ANSWER_BYTES / 8,
    ],
    [
      'signatures of a native answer',
      () => [
        'native',
        {
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'signature_delta', signature: 'x'.repeat(1_000) },
        },
      ],
      REASONING_BYTES / 1_000,
    ],
  ])('an answer past its limit is stopped where it continues with %s', (_, next, pieces) => {
    const { guard, passed, stop } = guarded()
    for (let piece = 0; piece < pieces + 2; piece++) guard.push(next())
    expect(stop).toHaveBeenCalledOnce()
    expect(passed.length).toBeLessThanOrEqual(pieces + 1)
  })

  test('of native events ends with the end of its block', () => {
    const { guard, passed } = guarded()
    const events: [NativeEvent, NativeEvent, ...NativeEvent[]] = [
      { type: 'message_start', usage: null },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x'.repeat(100_000) } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'more' } },
    ]
    for (const event of events) guard.push(['native', event])
    expect(passed).toEqual([
      ['native', events[0]],
      ['native', events[1]],
      [
        'native',
        {
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'text_delta', text: 'x'.repeat(ANSWER_BYTES) },
        },
      ],
      ['native', { type: 'content_block_stop', index: 0 }],
    ] satisfies Array<['native', NativeEvent]> as Delta[])
  })
})
