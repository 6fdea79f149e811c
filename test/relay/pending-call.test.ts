import { beforeEach, describe, expect, it } from 'vitest'
import type { CallEnvelope } from '../../src/core/call-job.ts'
import type { ControlMessage, FrameBody } from '../../src/core/frames.ts'
import { PendingCall } from '../../src/relay/pending-call.ts'

const envelope: CallEnvelope = {
  id: 'chatcmpl_1',
  accountId: 'acct_1',
  keyId: 'key_1',
  requestId: 'r',
  requestedModel: 'auto',
  stream: true,
  replyChannel: 'c',
  candidates: [],
  idempotencyRecord: null,
  holdPico: '0',
  promptTokensBound: 1,
  admittedAt: 0,
  queueDeadlineAt: 15_000,
  callDeadlineAt: 600_000,
}
const end: FrameBody = ['finish', 'stop', null]

describe('a pending call', () => {
  let shown: FrameBody[]
  let control: ControlMessage[]
  let overdue: number
  let call: PendingCall

  beforeEach(() => {
    shown = []
    control = []
    overdue = 0
    call = new PendingCall({
      envelope,
      sink: { frame: (body) => shown.push(body), flush: () => undefined, tick: () => undefined },
      control: (message) => control.push(message),
      overdue: () => overdue++,
      nowMs: 0,
    })
  })

  it('delivers frames once and in order, and asks for those that were lost', () => {
    call.accept(1, 0, ['open', 0], 1)
    call.accept(1, 2, ['text', 'c'], 2)
    call.accept(1, 3, end, 2)
    expect(shown).toEqual([['open', 0]])
    expect(control).toEqual([{ kind: 'resend', callId: 'chatcmpl_1', fence: 1, sequence: 1 }])
    call.accept(1, 1, ['text', 'b'], 3)
    call.accept(1, 2, ['text', 'c'], 3)
    call.accept(1, 2, ['text', 'c'], 3)
    call.accept(1, 3, end, 3)
    expect(shown).toEqual([['open', 0], ['text', 'b'], ['text', 'c'], end])
    expect(call.ended).toBe(true)
  })

  it('asks again while a gap stays open, then ends truthfully and cancels', () => {
    call.accept(1, 1, ['text', 'b'], 1_000)
    call.tick(1_300)
    expect(control.map(({ kind }) => kind)).toEqual(['resend', 'resend'])
    call.tick(4_200)
    expect(shown.at(-1)?.[0]).toBe('error')
    expect(control.at(-1)).toEqual({ kind: 'cancel', callId: 'chatcmpl_1' })
  })

  it('probes silence, since the frame that was lost may have been the last', () => {
    call.accept(1, 0, ['open', 0], 1_000)
    call.tick(5_900)
    expect(control).toEqual([])
    call.tick(6_100)
    expect(control).toEqual([{ kind: 'resend', callId: 'chatcmpl_1', fence: 1, sequence: 1 }])
  })

  it('lets a second claim run when nothing was shown, and refuses the first from then on', () => {
    call.accept(2, -1, ['takeover'], 1)
    expect(control).toEqual([{ kind: 'shown', callId: 'chatcmpl_1', fence: 2, shown: null }])
    call.accept(1, 0, ['open', 0], 2)
    call.accept(2, 0, ['open', 1], 3)
    expect(shown).toEqual([['open', 1]])
  })

  it('tells a second claim what was shown', () => {
    call.accept(1, 0, ['open', 3], 1)
    call.accept(1, 1, ['text', 'Hel'], 1)
    call.accept(1, 2, ['text', 'lo'], 1)
    call.accept(2, -1, ['takeover'], 2)
    expect(control).toEqual([
      {
        kind: 'shown',
        callId: 'chatcmpl_1',
        fence: 2,
        shown: { text: 'Hello', candidate: 3, finished: false },
      },
    ])
  })

  it('shows an abandoned client nothing more, but still answers a takeover', () => {
    call.accept(1, 0, ['open', 0], 1)
    call.abandon()
    call.accept(1, 1, ['text', 'late'], 2)
    expect(shown).toEqual([['open', 0]])
    call.accept(2, -1, ['takeover'], 3)
    expect(control.at(-1)).toMatchObject({ kind: 'shown', shown: { text: '', candidate: 0 } })
  })

  it('reports a call overdue in the queue, again and again, until a frame comes', () => {
    call.tick(15_001)
    call.tick(15_101)
    expect(overdue).toBe(1)
    call.tick(20_200)
    expect(overdue).toBe(2)
    call.accept(1, 0, ['open', 0], 20_300)
    call.tick(26_000)
    expect(overdue).toBe(2)
  })

  it('ends with a timeout when nobody ends it', () => {
    call.tick(605_001)
    expect(shown).toMatchObject([['error', { code: 'upstream_timeout' }]])
  })
})
