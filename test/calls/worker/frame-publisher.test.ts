import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { CallOutbox } from '../../../src/calls/worker/call-outbox.ts'
import { FramePublisher } from '../../../src/calls/worker/frame-publisher.ts'
import { RunningCalls } from '../../../src/calls/worker/running-calls.ts'
import type { Frame } from '../../../src/core/calls/frames.ts'
import { createLogger } from '../../../src/platform/observability/logger.ts'
import { claimedOf, jobOf } from '../../helpers/call-shapes.ts'
import { fakeRedis } from '../../helpers/stub-of.ts'

/** What Redis answers to a message. */
let listeners: number
let published: string[]
let calls: RunningCalls
let publisher: FramePublisher

beforeEach(() => {
  vi.useFakeTimers()
  listeners = 1
  published = []
  calls = new RunningCalls()
  publisher = new FramePublisher({
    worker: 'w1',
    redis: fakeRedis({
      publish: async (channel: string, message: string) => {
        published.push(`${channel} ${message}`)
        return listeners
      },
    }),
    logger: createLogger('silent', 'test'),
    onLost: (frames: readonly Frame[]) => calls.noteLost(frames),
    onUnacknowledged: (channel, subscribedAt) => calls.abortChannel(channel, subscribedAt),
    openChannels: () => calls.channels(),
    onRound: () => calls.markSent(Date.now()),
    clock: Date.now,
  })
})
afterEach(() => {
  publisher.stop()
  vi.useRealTimers()
})

const open = (id: string, runsOn = false, running = calls) => {
  const callId = `chatcmpl_${id}` as const
  const wholeUpToBytes = runsOn ? 1_000_000 : 0
  return running.add(
    claimedOf(jobOf({ id: callId, idempotencyRecord: runsOn ? 'digest' : null })),
    new CallOutbox({ publisher, callId, channel: 'api', generation: 1, wholeUpToBytes }),
  )
}
const passed = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('a call whose API instance goes away', () => {
  test('is failed by the gateway, and counts as delivered what was sent while somebody listened', async () => {
    const call = open('1')
    call.outbox.send(['open', 0])
    call.outbox.send(['text', 'heard'])
    await passed(1_500)
    listeners = 0
    call.outbox.send(['text', ' lost'])
    await passed(10)
    call.outbox.send(['text', ' too'])
    expect(call.outbox.deliveredChars).toBe(5)
    await passed(2_500)
    expect(call.controller.signal.reason).toBe('gateway-failed')
    expect(call.failure).toEqual({ code: 'internal_error', deliveredChars: 5 })
  })

  test('does not count as delivered what was sent so shortly before that it may not have been passed on', async () => {
    const call = open('1')
    call.outbox.send(['text', 'passed on'])
    await passed(1_500)
    call.outbox.send(['text', ', and this died with it'])
    await passed(100)
    listeners = 0
    // Nothing more comes of the answer: a ping finds out.
    await passed(3_500)
    expect(call.failure).toEqual({ code: 'internal_error', deliveredChars: 'passed on'.length })
  })

  test('runs on when somebody listens again in time and asks for what was lost', async () => {
    const call = open('1')
    listeners = 0
    call.outbox.send(['text', 'lost'])
    await passed(500)
    expect(call.outbox.deliveredChars).toBe(0)
    listeners = 1
    calls.control({ kind: 'resend', callId: call.outbox.callId, generation: 0, sequence: 0 })
    await passed(5_000)
    expect(call.controller.signal.aborted).toBe(false)
    expect(call.outbox.deliveredChars).toBe(4)
  })

  test('runs on where its answer is kept for repeats', async () => {
    const call = open('1', true)
    listeners = 0
    await passed(5_000)
    expect(call.controller.signal.aborted).toBe(false)
  })
})

describe('what comes in one turn', () => {
  const framesOf = (message: string) => (JSON.parse(message.slice('api '.length)) as Frame[]).slice(1)

  test('travels as one message, however many calls it is of', async () => {
    const [first, second] = [open('1').outbox, open('2').outbox]
    first.send(['text', 'a'])
    second.send(['text', 'b'])
    await passed(1)
    expect(published.map(framesOf)).toEqual([
      [
        ['chatcmpl_1', 1, 0, ['texts', ['a']], first.run],
        ['chatcmpl_2', 1, 0, ['texts', ['b']], second.run],
      ],
    ])
  })

  test('travels in order and in messages of at most a quarter of a megabyte', async () => {
    const { outbox } = open('1')
    for (let index = 0; index < 300; index++) outbox.send(['text', '漢'.repeat(3_000)])
    await passed(1)
    expect(Math.max(...published.map((message) => Buffer.byteLength(message)))).toBeLessThan(256 * 1024)
    const sequences = published.flatMap(framesOf).map(([, , sequence]) => sequence)
    expect(sequences).toEqual(Array.from({ length: 300 }, (_, index) => index))
  })

  test('counts as lost when it cannot be sent, whatever the reason, and ends no worker', async () => {
    const { outbox } = open('1')
    const circular: { self?: unknown } = {}
    circular.self = circular
    outbox.send(['text', 'lost'])
    outbox.send(['tool-calls', [circular as never]])
    await passed(1)
    expect(published).toEqual([])
    expect(outbox.deliveredChars).toBe(0)
  })
})

describe('whether somebody listens', () => {
  test('is asked once for many calls that want to know', async () => {
    await Promise.all(Array.from({ length: 100 }, () => publisher.certain('api')))
    expect(published).toEqual(['api [["w1",0,-1,["from"]]]'])
  })

  test('is certain only after a reconnect would have come, and then the calls have failed', async () => {
    const call = open('1')
    listeners = 0
    let isCertain = false
    const asked = publisher.certain('api').then(() => {
      isCertain = true
    })
    await passed(1_900)
    expect(isCertain).toBe(false)
    await passed(200)
    await asked
    expect(call.failure).toEqual({ code: 'internal_error', deliveredChars: 0 })
  })

  test('is noticed within a second of silence', async () => {
    const call = open('1')
    await publisher.certain('api')
    listeners = 0
    await passed(1_001)
    await passed(2_001)
    expect(call.failure).not.toBeNull()
  })
})

describe('a cancel', () => {
  test('that overtakes its call still says who ended it', () => {
    calls.control({ kind: 'cancel', callId: 'chatcmpl_1', ending: { by: 'client' } })
    const ending = { by: 'gateway', code: 'overloaded', deliveredChars: 0 } as const
    calls.control({ kind: 'cancel', callId: 'chatcmpl_2', ending })
    expect(open('1')).toMatchObject({ failure: null, controller: { signal: { reason: 'client-gone' } } })
    expect(open('2')).toMatchObject({ failure: { code: 'overloaded', deliveredChars: 0 } })
  })
})

describe('frames of ended calls', () => {
  const resent = async (running: RunningCalls, id: string) => {
    published = []
    running.control({ kind: 'resend', callId: `chatcmpl_${id}`, generation: 1, sequence: 0 })
    await passed(10)
    return published.length > 0
  }

  test('are kept for a resend up to a number of bytes, the newest', async () => {
    const bounded = new RunningCalls(10_000)
    for (const id of ['1', '2', '3']) {
      const call = open(id, false, bounded)
      call.outbox.send(['text', 'x'.repeat(4_000)])
      bounded.remove(call)
    }
    await passed(10)
    expect(await resent(bounded, '1')).toBe(false)
    expect(await resent(bounded, '2')).toBe(true)
    expect(await resent(bounded, '3')).toBe(true)
    const huge = open('4', false, bounded)
    huge.outbox.send(['text', 'x'.repeat(20_000)])
    bounded.remove(huge)
    await passed(10)
    expect(await resent(bounded, '4')).toBe(false)
    expect(await resent(bounded, '3')).toBe(true)
  })
})
