import { beforeEach, describe, expect, test } from 'vitest'
import { CallOutbox } from '../../../src/calls/worker/call-outbox.ts'
import type { FramePublisher } from '../../../src/calls/worker/frame-publisher.ts'
import type { Frame } from '../../../src/core/calls/frames.ts'
import type { CallId } from '../../../src/core/kernel/ids.ts'
import { stubOf } from '../../helpers/stub-of.ts'

const CALL = 'chatcmpl_1' as CallId
const label = (index: number) => `chatcmpl_label${index}` as CallId

let sent: Frame[]
let turn: number
const publisher = stubOf<FramePublisher>({
  send: (_channel, ...frame) => void sent.push(frame),
  get turn() {
    return turn
  },
})
const open = (wholeUpToBytes: number) =>
  new CallOutbox({ publisher, callId: CALL, channel: 'c', generation: 1, wholeUpToBytes })
/** Sends a text in a turn of its own. */
const say = (outbox: CallOutbox, text: string) => {
  turn++
  outbox.send(['text', text])
}
const sentTo = (id: CallId) => sent.filter(([to]) => to === id)

beforeEach(() => {
  sent = []
  turn = 0
})

describe('the texts of an outbox', () => {
  const bodies = () => sent.map(([, , sequence, body]) => [sequence, ...body])

  test('share a frame if they come in one turn, and each is counted and repeated', () => {
    const outbox = open(0)
    outbox.send(['open', 0])
    for (const text of ['a', 'b']) outbox.send(['text', text])
    turn++
    outbox.send(['text', 'c'])
    expect(bodies()).toEqual([
      [0, 'open', 0],
      [1, 'texts', ['a', 'b']],
      [2, 'texts', ['c']],
    ])
    expect(outbox.deliveredChars).toBe(3)
    sent = []
    outbox.resend(1)
    expect(bodies().slice(0, 2)).toEqual([
      [1, 'texts', ['a', 'b']],
      [2, 'texts', ['c']],
    ])
    outbox.noteUnacknowledged(2)
    expect(outbox.deliveredChars).toBe(2)
  })

  test('begin another frame after content of another kind, and where one would be long', () => {
    const outbox = open(0)
    outbox.send(['text', 'a'])
    outbox.send(['reasoning', 'because'])
    outbox.send(['text', 'x'.repeat(3_000)])
    outbox.send(['text', 'y'.repeat(3_000)])
    expect(sent.map(([, , , [kind, content]]) => [kind, String(content).length])).toEqual([
      ['texts', 1],
      ['reasoning', 7],
      ['texts', 3_000],
      ['texts', 3_000],
    ])
  })

  test('are refused after its end', () => {
    const outbox = open(0)
    outbox.send(['text', 'a'])
    outbox.ended(['finish', 'stop', null])
    expect(() => outbox.send(['text', 'b'])).toThrow('ended')
  })
})

describe('the outbox of a call with an Idempotency-Key', () => {
  test('the outbox resends a repeat everything from the requested frame and continues', () => {
    const outbox = open(1_000)
    say(outbox, 'a')
    say(outbox, 'b')
    outbox.attach('d', label(1), 1)
    say(outbox, 'c')
    expect(sentTo(label(1)).map(([, , sequence]) => sequence)).toEqual([1, 2])
  })

  test('sends nothing more to a repeat that left, and all to its first caller', () => {
    const outbox = open(1_000)
    outbox.attach('d', label(1), 0)
    outbox.detach((receiver) => receiver.listenerId === label(1))
    outbox.detach((receiver) => receiver.channel === 'c')
    say(outbox, 'a')
    expect(sentTo(label(1))).toEqual([])
    expect(sentTo(CALL)).toHaveLength(1)
  })

  test('takes a bounded number of repeats, and a place is free again when one leaves', () => {
    const outbox = open(1_000)
    const labels = Array.from({ length: 17 }, (_, index) => label(index))
    for (const one of labels) outbox.attach('d', one, 0)
    outbox.attach('d', labels[0]!, 0)
    say(outbox, 'a')
    const refused = sent.filter(([, , , body]) => body[0] === 'error')
    expect(refused).toMatchObject([
      [labels[16], 1, 0, ['error', { code: 'rate_limit_exceeded' }], outbox.run],
    ])
    expect(sent.filter(([, , , body]) => body[0] === 'texts')).toHaveLength(1 + 16)
    outbox.detach((receiver) => receiver.listenerId === labels[0])
    outbox.attach('d', labels[16]!, 0)
    expect(sentTo(labels[16]!).at(-1)).toEqual([labels[16], 1, 0, ['texts', ['a']], outbox.run])
  })

  test('the outbox keeps an answer up to a bound; beyond it a repeat from the start gets an error', () => {
    const outbox = open(200_000)
    for (let index = 0; index < 10_000; index++) say(outbox, 'x')
    expect(outbox.frames).toHaveLength(10_000)
    for (let index = 0; index < 3_000; index++) say(outbox, 'x')
    expect(outbox.frames).toBeNull()
    outbox.attach('d', label(1), 0)
    expect(sentTo(label(1))).toMatchObject([
      [label(1), 1, 0, ['error', { code: 'idempotency_conflict' }], outbox.run],
    ])
    sent = []
    outbox.attach('d', label(2), 12_999)
    expect(sentTo(label(2))).toEqual([[label(2), 1, 12_999, ['texts', ['x']], outbox.run]])
  })
})

describe('what is kept for a resend', () => {
  const resent = (outbox: CallOutbox, from: number) => {
    sent = []
    outbox.resend(from)
    return sentTo(CALL).map(([, , sequence]) => sequence)
  }

  test('is all of the last quarter of a megabyte: half a minute of a fast stream', () => {
    const outbox = open(0)
    expect(outbox.keptBytes).toBeGreaterThan(0)
    for (let index = 0; index < 20_000; index++) say(outbox, 'token')
    expect(resent(outbox, 20_000 - 3_000)).toHaveLength(3_000 + 1)
    expect(outbox.keptBytes).toBeLessThan(512 * 1024)
  })

  test('is bounded in bytes however long a frame is, but for the last', () => {
    const outbox = open(0)
    for (let index = 0; index < 1_000; index++) {
      say(outbox, 'x'.repeat(30_000))
      expect(outbox.keptBytes).toBeLessThan(600 * 1024)
    }
    outbox.send(['tool-calls', [{ index: 0, function: { arguments: 'x'.repeat(900_000) } }]])
    expect(resent(outbox, 1_000)).toEqual([1_000, -1])
  })

  test('is followed by the word that this was all, also where nothing is missing or it is kept no longer', () => {
    const outbox = open(0)
    for (let index = 0; index < 30_000; index++) say(outbox, 'token')
    expect(resent(outbox, 29_999)).toEqual([29_999, -1])
    expect(resent(outbox, 30_000)).toEqual([-1])
    expect(resent(outbox, 0)).toEqual([-1])
    expect(sent).toEqual([[CALL, 1, -1, ['caught-up'], outbox.run]])
  })
})
