import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { CallOutbox } from '../../../src/calls/worker/call-outbox.ts'
import { type RunningCall, RunningCalls } from '../../../src/calls/worker/running-calls.ts'
import { askEnded, askTakeover } from '../../../src/calls/worker/takeover.ts'
import type { DeliveredPrefix } from '../../../src/core/calls/frames.ts'
import type { CallId } from '../../../src/core/kernel/ids.ts'
import { claimedOf, jobOf } from '../../helpers/call-shapes.ts'
import { stubOf } from '../../helpers/stub-of.ts'

const CALL = 'chatcmpl_1' as CallId
const SHOWN = { text: 'half of it', candidate: 0, finished: false }

let calls: RunningCalls
let call: RunningCall
let asked: number

beforeEach(() => {
  vi.useFakeTimers()
  asked = 0
  calls = new RunningCalls()
  const outbox = stubOf<CallOutbox>({
    callId: CALL,
    generation: 2,
    run: 'b',
    keptBytes: 1,
    ask: () => void asked++,
  })
  call = calls.add(claimedOf(jobOf({ id: CALL })), outbox)
})
afterEach(() => void vi.useRealTimers())

const answer = (generation: number) =>
  calls.control({ kind: 'delivered', callId: CALL, generation, delivered: SHOWN })

describe('a worker that lost its claim while it ended the call', () => {
  const WHOLE = { text: '', candidate: null, finished: true }
  const tell = (delivered: DeliveredPrefix) =>
    calls.control({ kind: 'delivered', callId: CALL, generation: 2, run: 'b', delivered })

  test.each([
    ['its own end', { ...WHOLE, endedBy: 'b' }, true],
    ['the end of another run', { ...WHOLE, endedBy: 'c' }, false],
    ['an end by the API instance', WHOLE, false],
    ['no end', { ...WHOLE, finished: false }, false],
  ])('learns whether the client received its end: %s', async (_, delivered, isOurs) => {
    const ended = askEnded(call)
    calls.abort(CALL, 'client-gone')
    tell(delivered)
    expect(await ended).toBe(isOurs)
  })

  test('takes silence for no', async () => {
    const ended = askEnded(call)
    await vi.advanceTimersByTimeAsync(3_100)
    expect(await ended).toBe(false)
  })
})

describe('a worker that takes a call over', () => {
  test('a takeover asks for its own claim until it learns what was delivered', async () => {
    const takeover = askTakeover(call)
    await vi.advanceTimersByTimeAsync(1_100)
    expect(asked).toBe(3)
    answer(1)
    answer(2)
    expect(await takeover).toEqual(SHOWN)
  })

  test.each([{ by: 'client' }, { by: 'gateway', code: 'overloaded', deliveredChars: 10 }] as const)(
    'still settles what was delivered when a cancel by the $by comes meanwhile',
    async (ending) => {
      const takeover = askTakeover(call)
      calls.control({ kind: 'cancel', callId: CALL, ending })
      answer(2)
      expect(await takeover).toEqual(SHOWN)
    },
  )

  test('a takeover without an answer records who ended the call', async () => {
    const takeover = askTakeover(call)
    calls.control({ kind: 'cancel', callId: CALL, ending: { by: 'client' } })
    await vi.advanceTimersByTimeAsync(3_100)
    expect(await takeover).toMatchObject({ text: '', ending: { by: 'client' }, isUnanswered: true })
  })

  test('a takeover ends when the API instance reports that another run began the answer', () => {
    const tell = (run: string, delivered: DeliveredPrefix | null) =>
      calls.control({ kind: 'delivered', callId: CALL, generation: 2, run, delivered })
    tell('a', SHOWN)
    // Late answers to its own question.
    tell('b', null)
    tell('b', { ...SHOWN, text: '', candidate: null, finished: true })
    expect(call.controller.signal.aborted).toBe(false)
    tell('b', SHOWN)
    expect(call.controller.signal.reason).toBe('begun-elsewhere')
    expect(call.begunElsewhere).toEqual(SHOWN)
  })

  test('waits for no answer when it has to let the call go', async () => {
    const takeover = askTakeover(call)
    calls.abort(CALL, 'lease-lost')
    expect(await takeover).toMatchObject({ finished: false })
  })
})
