import { beforeEach, describe, expect, test } from 'vitest'
import { PendingCall } from '../../../src/calls/api/pending-call.ts'
import type { ControlMessage, FrameBody } from '../../../src/core/calls/frames.ts'
import { envelopeOf } from '../../helpers/call-shapes.ts'

const envelope = envelopeOf({
  id: 'chatcmpl_1',
  admittedAt: 0,
  queueDeadlineAt: 15_000,
  callDeadlineAt: 600_000,
})
const end: FrameBody = ['finish', 'stop', null]

describe('a pending call', () => {
  let delivered: FrameBody[]
  let control: ControlMessage[]
  let looks: number
  /** What is found of a call that is looked for. */
  let isFoundRunning: boolean
  let told: Array<[code: string, deliveredText: string]>
  let call: PendingCall
  /** Whether it may ask for frames at once. */
  let isItsTurn: boolean

  beforeEach(() => {
    delivered = []
    control = []
    looks = 0
    isFoundRunning = false
    told = []
    isItsTurn = true
    call = new PendingCall({
      envelope,
      sink: { frame: (body) => void delivered.push(body), flush: () => undefined, tick: () => undefined },
      control: (message) => control.push(message),
      wantsResend: () => isItsTurn && call.askResend(nowMs),
      look() {
        looks++
        if (isFoundRunning) call.probe()
      },
      errorSent: ({ code }, deliveredText, isSettled) => !isSettled && told.push([code, deliveredText]),
      nowMs: 0,
    })
  })

  let nowMs = 0
  const tick = (atMs: number) => {
    nowMs = atMs
    call.tick(atMs)
  }

  const tickUntil = (fromMs: number, toMs: number) => {
    for (let atMs = fromMs; atMs <= toMs; atMs += 100) tick(atMs)
  }

  test('a pending call reports shown reasoning to a worker that takes it over', () => {
    call.accept({ generation: 1 }, 0, ['open', 0], 1)
    call.accept({ generation: 1 }, 1, ['reasoning', 'Hm. '], 2)
    call.accept({ generation: 1 }, 2, ['text', 'Hi'], 3)
    call.accept({ generation: 1 }, 3, ['logprobs', []], 4)
    call.accept({ generation: 2 }, -1, ['takeover'], 5)
    const delivered = { text: 'Hm. Hi', candidate: 0, finished: false }
    expect(control.at(-1)).toEqual({ kind: 'delivered', callId: 'chatcmpl_1', generation: 2, delivered })
  })

  test('a pending call reports once what was delivered before its client received an error', () => {
    const failure = { code: 'all_providers_failed', message: '' } as const
    call.accept({ generation: 1 }, 0, ['open', 0], 1)
    call.accept({ generation: 1 }, 1, ['text', 'Hi'], 2)
    call.fail(failure)
    call.accept({ generation: 1 }, 2, ['text', ' there'], 3)
    call.fail(failure)
    call.endAsLost(failure)
    expect(told).toEqual([['all_providers_failed', 'Hi']])
  })

  test('says nothing of a failure to a client that left', () => {
    call.abandon()
    call.fail({ code: 'all_providers_failed', message: '' })
    call.endAsLost({ code: 'internal_error', message: '' })
    expect(told).toEqual([])
  })

  test('delivers frames once and in order, and asks for those that were lost', () => {
    call.accept({ generation: 1 }, 0, ['open', 0], 1)
    call.accept({ generation: 1 }, 2, ['text', 'c'], 2)
    call.accept({ generation: 1 }, 3, end, 2)
    expect(delivered).toEqual([['open', 0]])
    expect(control).toEqual([{ kind: 'resend', callId: 'chatcmpl_1', generation: 1, sequence: 1 }])
    call.accept({ generation: 1 }, 1, ['text', 'b'], 3)
    call.accept({ generation: 1 }, 2, ['text', 'c'], 3)
    call.accept({ generation: 1 }, 2, ['text', 'c'], 3)
    call.accept({ generation: 1 }, 3, end, 3)
    expect(delivered).toEqual([['open', 0], ['text', 'b'], ['text', 'c'], end])
    expect(call.ended).toBe(true)
  })

  test('requests a last frame again that came during a gap, and that its worker could not send again yet', () => {
    call.accept({ generation: 1 }, 0, ['open', 0], 10)
    call.accept({ generation: 1 }, 2, end, 20)
    call.accept({ generation: 1 }, 1, ['text', 'a'], 30)
    tick(300)
    expect(control.at(-1)).toMatchObject({ kind: 'resend', sequence: 2 })
    call.accept({ generation: 1 }, 2, end, 310)
    expect(delivered.at(-1)).toEqual(end)
  })

  test('reports the error of a run only where Redis may have forgotten an earlier run', () => {
    call.accept({ generation: 1 }, 0, ['error', { code: 'internal_error', message: 'm' }], 1)
    expect(told).toEqual([])
  })

  test('reports the error of a run after Redis was away, with what was delivered before', () => {
    call.accept({ generation: 1 }, 0, ['open', 0], 1)
    call.accept({ generation: 1 }, 1, ['text', 'a'], 2)
    call.reconnected()
    call.accept({ generation: 1 }, 2, ['error', { code: 'internal_error', message: 'm' }], 3)
    expect(told).toEqual([['internal_error', 'a']])
  })

  test('gives no gap up for questions whose answers a lost connection has swallowed', () => {
    call.accept({ generation: 1 }, 0, ['open', 0], 1)
    call.accept({ generation: 1 }, 2, ['text', 'c'], 2)
    for (let fromMs = 100; fromMs < 20_000; fromMs += 2_000) {
      tickUntil(fromMs, fromMs + 1_900)
      call.reconnected()
    }
    expect(delivered).toEqual([['open', 0]])
    call.accept({ generation: 1 }, 1, ['text', 'b'], 20_000)
    call.accept({ generation: 1 }, 2, ['text', 'c'], 20_000)
    expect(delivered).toHaveLength(3)
  })

  test('asks again while a gap stays open, then ends truthfully and cancels', () => {
    nowMs = 1_000
    call.accept({ generation: 1 }, 1, ['text', 'b'], 1_000)
    tick(1_300)
    expect(control.map(({ kind }) => kind)).toEqual(['resend', 'resend'])
    tickUntil(1_400, 3_400)
    expect(delivered).toEqual([])
    tickUntil(3_500, 5_000)
    expect(delivered.at(-1)?.[0]).toBe('error')
    expect(control.at(-1)).toEqual({
      kind: 'cancel',
      callId: 'chatcmpl_1',
      ending: { by: 'gateway', code: 'internal_error', deliveredChars: 0 },
    })
  })

  test('that has to wait for its turn to ask is not given up meanwhile', () => {
    isItsTurn = false
    call.accept({ generation: 1 }, 1, ['text', 'b'], 1_000)
    tick(9_000)
    expect(delivered).toEqual([])
    isItsTurn = true
    tickUntil(9_100, 11_400)
    expect(delivered).toEqual([])
    tickUntil(11_500, 14_000)
    expect(delivered.at(-1)?.[0]).toBe('error')
  })

  test('is not given up by an instance that was frozen itself', () => {
    call.accept({ generation: 1 }, 1, ['text', 'b'], 1_000)
    tick(60_000)
    expect(delivered).toEqual([])
  })

  test('repeats a cancel, less and less often, until its worker has ended the call', () => {
    call.accept({ generation: 1 }, 0, ['open', 0], 1)
    call.abandon()
    const toldAt: number[] = []
    for (let atMs = 0; atMs <= 20_000; atMs += 100) {
      control = []
      tick(atMs)
      if (control.some(({ kind }) => kind === 'cancel')) toldAt.push(atMs)
    }
    expect(toldAt).toEqual([1_000, 3_000, 7_000, 12_000, 17_000])
    call.accept({ generation: 1 }, 1, ['error', { code: 'internal_error', message: 'ended' }], 20_000)
    control = []
    tick(30_000)
    expect(control.filter(({ kind }) => kind === 'cancel')).toEqual([])
  })

  test('repeats a cancel at once after a reconnect, and asks for what it missed', () => {
    call.accept({ generation: 1 }, 0, ['open', 0], 1)
    call.abandon()
    control = []
    call.reconnected()
    expect(control.map(({ kind }) => kind)).toEqual(['cancel', 'resend'])
  })

  test('says who ended it: the client that left, or the gateway and how much of the answer it had sent', () => {
    call.accept({ generation: 1 }, 0, ['open', 0], 1)
    call.accept({ generation: 1 }, 1, ['text', 'Hello'], 1)
    call.accept(
      { generation: 1 },
      2,
      ['tool-calls', [{ index: 0, function: { name: 'f', arguments: '{}' } }]],
      1,
    )
    call.fail({ code: 'overloaded', message: 'stopping' })
    call.abandon()
    expect(control).toEqual([
      {
        kind: 'cancel',
        callId: 'chatcmpl_1',
        ending: { by: 'gateway', code: 'overloaded', deliveredChars: 7 },
      },
    ])
    call.accept({ generation: 2 }, -1, ['takeover'], 3)
    expect(control.at(-1)).toMatchObject({ delivered: { text: 'Hello{}', ending: { by: 'gateway' } } })
  })

  test('a client that disconnects before the gateway gives up is recorded as the only cause', () => {
    call.accept({ generation: 1 }, 0, ['open', 0], 1)
    call.abandon()
    call.fail({ code: 'overloaded', message: 'stopping' })
    expect(control).toEqual([{ kind: 'cancel', callId: 'chatcmpl_1', ending: { by: 'client' } }])
  })

  test('that runs silently is asked for frames, since the one that was lost may have been the last', () => {
    isFoundRunning = true
    call.accept({ generation: 1 }, 0, ['open', 0], 1_000)
    tick(5_900)
    expect(control).toEqual([])
    tick(6_100)
    expect(control).toEqual([{ kind: 'resend', callId: 'chatcmpl_1', generation: 1, sequence: 1 }])
  })

  test('lets a second claim run when nothing was delivered, and refuses the first from then on', () => {
    call.accept({ generation: 2 }, -1, ['takeover'], 1)
    expect(control).toEqual([{ kind: 'delivered', callId: 'chatcmpl_1', generation: 2, delivered: null }])
    call.accept({ generation: 1 }, 0, ['open', 0], 2)
    call.accept({ generation: 2 }, 0, ['open', 1], 3)
    expect(delivered).toEqual([['open', 1]])
  })

  test('a pending call reports what was delivered to a second claim', () => {
    call.accept({ generation: 1 }, 0, ['open', 3], 1)
    call.accept({ generation: 1 }, 1, ['text', 'Hel'], 1)
    call.accept({ generation: 1 }, 2, ['text', 'lo'], 1)
    call.accept({ generation: 2 }, -1, ['takeover'], 2)
    expect(control).toEqual([
      {
        kind: 'delivered',
        callId: 'chatcmpl_1',
        generation: 2,
        delivered: { text: 'Hello', candidate: 3, finished: false },
      },
    ])
  })

  describe('of which Redis forgot the first claim, and gave its number away again,', () => {
    const first = { generation: 1, run: 'a', worker: 'w1' }
    const second = { generation: 1, run: 'b', worker: 'w2' }
    const failed: FrameBody = ['error', { code: 'all_providers_failed', message: 'no provider' }]

    const begin = () => {
      call.accept(first, 0, ['open', 3], 1)
      call.accept(first, 1, ['text', 'Hel'], 1)
    }

    test('continues with frames of the run that began it alone', () => {
      begin()
      call.accept(second, 0, ['open', 0], 2)
      call.accept(second, 1, ['text', 'Good'], 2)
      call.accept(second, 2, ['text', ' day'], 2)
      call.accept(first, 2, ['text', 'lo'], 3)
      call.accept(first, 3, end, 3)
      expect(delivered).toEqual([['open', 3], ['text', 'Hel'], ['text', 'lo'], end])
    })

    test('a pending call reports what was delivered to a run under a reused claim number while that run publishes', () => {
      begin()
      control = []
      for (const [sequence, atMs] of [1_000, 1_100, 1_500].entries())
        call.accept(second, sequence, ['text', 'x'], atMs)
      const told = {
        kind: 'delivered',
        callId: 'chatcmpl_1',
        generation: 1,
        run: 'b',
        delivered: { text: 'Hel', candidate: 3, finished: false },
      }
      expect(control).toEqual([told, told])
    })

    test('ends with the error of the other run, though its number was delivered before', () => {
      begin()
      call.accept(second, 0, failed, 2)
      expect(delivered).toEqual([['open', 3], ['text', 'Hel'], failed])
      expect(call.ended).toBe(true)
    })

    test('never looks finished by the end of the other run', () => {
      begin()
      call.accept(second, 2, end, 2)
      expect(delivered.at(-1)).toMatchObject(['error', { code: 'internal_error' }])
      expect(told).toEqual([['internal_error', 'Hel']])
      expect(call.ended).toBe(true)
    })

    test('is served by the other run where nothing was delivered', () => {
      call.accept(first, 1, ['text', 'Hel'], 1)
      call.accept(second, 0, ['open', 0], 2)
      call.accept(second, 1, ['text', 'Good day'], 2)
      call.accept(first, 2, ['text', 'lo'], 3)
      call.accept(second, 2, end, 4)
      expect(delivered).toEqual([['open', 0], ['text', 'Good day'], end])
    })

    test('answers a second claim of the same number that takes it over', () => {
      const [third, fourth] = [
        { ...first, generation: 2, run: 'c' },
        { ...second, generation: 2, run: 'd' },
      ]
      call.accept(third, -1, ['takeover'], 1)
      call.accept(third, 0, ['open', 0], 1)
      call.accept(third, 1, ['text', 'Hi'], 1)
      call.accept(fourth, -1, ['takeover'], 2)
      expect(control.at(-1)).toMatchObject({ run: 'd', delivered: { text: 'Hi', candidate: 0 } })
      call.accept(fourth, 0, failed, 3)
      expect(delivered).toEqual([['open', 0], ['text', 'Hi'], failed])
    })

    test('asks the run that began it for what it missed', () => {
      begin()
      control = []
      call.accept(first, 3, end, 2)
      expect(control).toMatchObject([{ kind: 'resend', generation: 1, run: 'a', sequence: 2 }])
    })
  })

  test('shows an abandoned client nothing more, but still answers a takeover', () => {
    call.accept({ generation: 1 }, 0, ['open', 0], 1)
    call.abandon()
    call.accept({ generation: 1 }, 1, ['text', 'late'], 2)
    expect(delivered).toEqual([['open', 0]])
    call.accept({ generation: 2 }, -1, ['takeover'], 3)
    expect(control.at(-1)).toMatchObject({ kind: 'delivered', delivered: { text: '', candidate: 0 } })
  })

  test('is looked for every five seconds of silence, and when it has waited for as long as it may', () => {
    const lookedAt: number[] = []
    for (let atMs = 0; atMs <= 17_000; atMs += 100) {
      const before = looks
      tick(atMs)
      if (looks > before) lookedAt.push(atMs)
    }
    expect(lookedAt).toEqual([5_100, 10_200, 15_100])
    call.accept({ generation: 1 }, 0, ['open', 0], 17_100)
    tick(22_000)
    expect(looks).toBe(3)
    tick(22_200)
    expect(looks).toBe(4)
  })

  test('whose job is gone has its end requested for five seconds, also just before its queue deadline', () => {
    const lookedAt: number[] = []
    call.lookNow()
    for (let atMs = 11_300; atMs <= 16_600; atMs += 100) {
      const before = looks
      tick(atMs)
      if (looks === before) continue
      lookedAt.push(atMs)
      call.endIsMissing(atMs, null)
    }
    expect(lookedAt).toEqual([11_300, 12_600, 13_900, 15_200, 16_500])
  })

  test('a pending call without an end times out at its deadline', () => {
    tick(605_001)
    expect(delivered).toMatchObject([['error', { code: 'upstream_timeout' }]])
  })
})
