import { EventEmitter } from 'node:events'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { CallHub } from '../../../src/calls/api/call-hub.ts'
import {
  type ControlMessage,
  encodeFrames,
  type Frame,
  type FrameBody,
} from '../../../src/core/calls/frames.ts'
import { type CallId, newCallId } from '../../../src/core/kernel/ids.ts'
import { controlChannel } from '../../../src/platform/redis/redis-keys.ts'
import { envelopeOf } from '../../helpers/call-shapes.ts'
import { fakeRedis } from '../../helpers/stub-of.ts'

const CALL_MS = 600_000
const FINISH: FrameBody = ['finish', 'stop', null]

let hub: CallHub
let subscriber: EventEmitter
/** Whether messages go through Redis. */
let isRedisThere: boolean
/** How long an echo takes. */
let echoMs: number
let echoes: number
/** Ends that were acknowledged, by command. */
let acknowledged: string[][]
let told: Array<ControlMessage & { channel: string }>
let delivered: Map<CallId, FrameBody[]>

beforeEach(async () => {
  vi.useFakeTimers()
  told = []
  acknowledged = []
  delivered = new Map()
  isRedisThere = true
  echoMs = 1
  echoes = 0
  subscriber = Object.assign(new EventEmitter(), { subscribe: async () => 1, unsubscribe: async () => 1 })
  const publish = async (channel: string, message: string) => {
    if (channel === hub.channel) echoes++
    if (!isRedisThere) throw new Error('Redis is away')
    if (channel === hub.channel) setTimeout(() => subscriber.emit('message', channel, message), echoMs)
    else told.push({ channel, ...(JSON.parse(message) as ControlMessage) })
    return 1
  }
  const hdel = async (_key: string, ...ids: string[]) => {
    if (!isRedisThere) throw new Error('Redis is away')
    return acknowledged.push(ids)
  }
  hub = new CallHub({
    apiId: 'api-1',
    shard: 0,
    subscriber: fakeRedis(subscriber),
    publisher: fakeRedis(Object.assign(new EventEmitter(), { publish, hdel })),
    logger: pino({ level: 'silent' }),
    clock: Date.now,
    places: { add: () => undefined },
  })
  await hub.start()
})
afterEach(async () => {
  await stopped()
  vi.useRealTimers()
})

const stopped = async () => {
  const stopping = hub.stop()
  await passed(3_000)
  return stopping
}
const passed = (ms: number) => vi.advanceTimersByTimeAsync(ms)

/** `writing`: of the end, which is written later. Absent: at once. */
const open = (writing?: Promise<void>): CallId => {
  const id = newCallId()
  const envelope = envelopeOf({ id })
  delivered.set(id, [])
  const sink = {
    frame(body: FrameBody) {
      delivered.get(id)!.push(body)
      return writing
    },
    flush: () => undefined,
    tick: () => undefined,
  }
  hub.register(envelope, sink, () => undefined)
  return id
}
/** The run of the first worker. */
const RUN = 'a'
const hearFrom = (worker: string, ...frames: Frame[]) =>
  subscriber.emit('message', hub.channel, encodeFrames(worker, frames))
const hear = (callId: CallId, generation: number, ...bodies: FrameBody[]) =>
  hearFrom('w1', ...bodies.map((body, sequence): Frame => [callId, generation, sequence, body, RUN]))
const lastShown = (id: CallId) => delivered.get(id)?.at(-1)
const toldOf = (kind: ControlMessage['kind']) => told.filter((message) => message.kind === kind)
/** A worker says every half second that it lives. */
const lives = (worker: string) => setInterval(() => hearFrom(worker), 500)

test('a call whose frame cannot be written fails alone: its worker is notified and the error is recorded', () => {
  const [other, id] = [open(), newCallId()]
  const written: FrameBody[] = []
  const recorded: Array<[code: string, text: string]> = []
  const sink = {
    frame(body: FrameBody) {
      if (body[0] === 'text' && body[1] === 'lo') throw new Error('cannot be written')
      written.push(body)
    },
    flush: () => undefined,
    tick: () => undefined,
  }
  const errorSent = ({ code }: { code: string }, text: string) => recorded.push([code, text])
  hub.register(envelopeOf({ id }), sink, () => undefined, { errorSent })
  const bodies: FrameBody[] = [
    ['open', 0],
    ['text', 'Hel'],
    ['text', 'lo'],
  ]
  const frames = (callId: CallId) => bodies.map((body, sequence): Frame => [callId, 1, sequence, body, RUN])
  hearFrom('w1', ...frames(id), ...frames(other))
  expect(written.at(-1)).toMatchObject(['error', { code: 'internal_error' }])
  expect(recorded).toEqual([['internal_error', 'Hello']])
  expect(toldOf('cancel')).toMatchObject([{ callId: id, channel: controlChannel('w1') }])
  expect(delivered.get(other)).toEqual(bodies)
  expect(acknowledged).toEqual([])
})

describe('a reply hub that is asked by a worker taking a call over', () => {
  const askTakeover = (callId: CallId) => {
    hearFrom('w2', [callId, 2, -1, ['takeover'], 'b'])
    return told.find((message) => message.kind === 'delivered' && message.callId === callId)
  }

  test('says that a call was finished which was delivered to its end', () => {
    const id = open()
    hear(id, 1, ['open', 0], ['text', 'all of it'], FINISH)
    expect(askTakeover(id)).toMatchObject({ channel: controlChannel('w2'), delivered: { finished: true } })
  })

  test('names the run whose end was delivered to the worker that lost its claim', () => {
    const id = open()
    const frames: FrameBody[] = [['open', 0], ['text', 'all of it'], FINISH]
    hearFrom('w1', ...frames.map((body, sequence): Frame => [id, 1, sequence, body, 'run-a']))
    hearFrom('w1', [id, 1, -1, ['was-ended'], 'run-a'])
    expect(told.find(({ kind }) => kind === 'delivered')).toMatchObject({
      callId: id,
      run: 'run-a',
      delivered: { finished: true, endedBy: 'run-a' },
    })
  })

  test('does not follow a run that asks about its end while the call waits for another', () => {
    const id = open()
    hearFrom('w1', [id, 1, 0, ['open', 0], 'run-a'])
    hearFrom('w2', [id, 2, -1, ['was-ended'], 'run-b'])
    hearFrom('w1', [id, 1, 1, ['text', 'goes on'], 'run-a'])
    expect(told.some(({ kind }) => kind === 'delivered')).toBe(false)
    expect(delivered.get(id)).toEqual([
      ['open', 0],
      ['text', 'goes on'],
    ])
  })

  test('a call that was given up at its deadline is not confirmed as ended, and reports what was delivered', async () => {
    const id = open()
    hear(id, 1, ['open', 0], ['text', 'half of it'])
    const living = lives('w1')
    await passed(CALL_MS + 30_000)
    clearInterval(living)
    expect(told).toContainEqual(expect.objectContaining({ kind: 'cancel', callId: id }))
    expect(askTakeover(id)).toMatchObject({
      delivered: { finished: false, text: 'half of it', candidate: 0 },
    })
  })

  test('does not say so of a call that it never knew or gave up long ago', async () => {
    expect(askTakeover(newCallId())).toMatchObject({ delivered: { finished: false, candidate: null } })
    const id = open()
    hear(id, 1, ['open', 0], ['text', 'half of it'])
    await passed(CALL_MS + 120_000)
    expect(hub.size).toBe(0)
    expect(askTakeover(id)).toMatchObject({ delivered: { finished: false, candidate: null } })
  })
})

describe('a worker that sends no messages any more', () => {
  test('is lost: within six seconds its streams end truthfully, and only those of which something was delivered', async () => {
    const [stream, unshown, other] = [open(), open(), open()]
    hear(stream, 1, ['open', 0], ['text', 'half of it'])
    hearFrom('w2', [other, 1, 0, ['open', 0], 'b'])
    const living = lives('w2')
    await passed(6_000)
    expect(lastShown(stream)).toMatchObject(['error', { code: 'all_providers_failed' }])
    expect(toldOf('cancel')[0]).toMatchObject({
      callId: stream,
      ending: { by: 'gateway', code: 'all_providers_failed', deliveredChars: 'half of it'.length },
    })
    await passed(6_000)
    clearInterval(living)
    expect(delivered.get(unshown)).toEqual([])
    expect(delivered.get(other)).toEqual([['open', 0]])
  })

  test('is not lost while it says something every few seconds, of whatever call', async () => {
    const [stream, other] = [open(), open()]
    hear(stream, 1, ['open', 0])
    for (let second = 0; second < 30; second += 3) {
      hearFrom('w1', [other, 1, second / 3, ['text', 'x'], RUN])
      await passed(3_000)
    }
    expect(delivered.get(stream)).toEqual([['open', 0]])
  })

  test('is not lost while Redis stands still or is away, nor right after it', async () => {
    const stream = open()
    hear(stream, 1, ['open', 0])
    isRedisThere = false
    await passed(60_000)
    isRedisThere = true
    subscriber.emit('ready')
    // Its worker is slower to notice that its own connection is gone.
    await passed(12_000)
    hear(stream, 1, ['open', 0], ['text', 'on it goes'])
    expect(lastShown(stream)).toEqual(['text', 'on it goes'])
  })

  test('is not lost soon after Redis stood still, where this connection outlived it and that of the worker did not', async () => {
    const stream = open()
    hear(stream, 1, ['open', 0])
    echoMs = 3_000
    await passed(2_000)
    echoMs = 1
    await passed(9_000)
    expect(delivered.get(stream)).toEqual([['open', 0]])
    await passed(10_000)
    expect(lastShown(stream)).toMatchObject(['error', { code: 'all_providers_failed' }])
  })

  test('is lost as soon after a time without calls, during which Redis carries nothing', async () => {
    const before = open()
    hear(before, 1, ['open', 0], FINISH)
    const published = echoes
    await passed(1_500)
    isRedisThere = false
    await passed(60_000)
    isRedisThere = true
    expect(echoes - published).toBeLessThanOrEqual(2)
    const stream = open()
    hear(stream, 1, ['open', 0])
    await passed(3_500)
    expect(delivered.get(stream)).toEqual([['open', 0]])
    await passed(2_500)
    expect(lastShown(stream)).toMatchObject(['error', { code: 'all_providers_failed' }])
  })

  test('is lost in the end where every echo is late', async () => {
    const stream = open()
    hear(stream, 1, ['open', 0])
    echoMs = 3_000
    await passed(90_000)
    expect(lastShown(stream)).toMatchObject(['error', { code: 'all_providers_failed' }])
  })

  test('is not lost when it is this instance that was frozen', async () => {
    const stream = open()
    hear(stream, 1, ['open', 0])
    vi.setSystemTime(Date.now() + 60_000)
    await passed(500)
    expect(delivered.get(stream)).toEqual([['open', 0]])
  })

  test('is asked first, since the end of its calls may be all that was lost', async () => {
    const stream = open()
    hear(stream, 1, ['open', 0], ['text', 'all of it'])
    const living = setInterval(() => {
      if (toldOf('resend').length > 0) hear(stream, 1, ['open', 0], ['text', 'all of it'], FINISH)
    }, 100)
    await passed(6_000)
    clearInterval(living)
    expect(lastShown(stream)).toEqual(FINISH)
  })
})

describe('calls that all miss frames, as after a stall', () => {
  test('are asked for one after another, a few at a time, and of the worker that has them', async () => {
    const ids = Array.from({ length: 100 }, open)
    for (const id of ids) hear(id, 1, ['open', 0])
    for (const id of ids) hearFrom('w1', [id, 1, 5, ['text', 'f'], RUN])
    const asked = () => toldOf('resend').map(({ callId }) => callId)
    expect(asked()).toEqual(ids.slice(0, 16))
    expect(new Set(toldOf('resend').map(({ channel }) => channel))).toEqual(new Set([controlChannel('w1')]))
    // The worker answers some of them; as many others have their turn.
    for (const id of ids.slice(0, 10)) hearFrom('w1', [id, 1, -1, ['caught-up'], RUN])
    expect(asked()).toEqual(ids.slice(0, 26))
    // One that does not answer keeps the others waiting for a moment.
    await passed(3_000)
    expect(new Set(asked())).toEqual(new Set(ids))
    expect([...delivered.values()].filter((bodies) => bodies.at(-1)?.[0] === 'error').length).toBeLessThan(
      100,
    )
  })
})

describe('a reply hub that stops', () => {
  test('a stopping call hub delivers an answer that was settled and reports its stop to the other workers', async () => {
    const [settled, ended, silent] = [open(), open(), open()]
    for (const id of [settled, ended, silent]) hear(id, 1, ['open', 0], ['text', 'half of it'])
    hub.failAll()
    expect(toldOf('cancel').map(({ callId }) => callId)).toEqual([settled, ended, silent])
    hearFrom(
      'w1',
      [settled, 1, 2, FINISH, RUN],
      [ended, 1, 2, ['error', { code: 'overloaded', message: 'ended' }], RUN],
    )
    expect(lastShown(settled)).toEqual(FINISH)
    expect(lastShown(ended)).toMatchObject(['error', { code: 'overloaded', retryAfterSeconds: 1 }])
    expect(lastShown(silent)).toEqual(['text', 'half of it'])
    await passed(1_100)
    expect(lastShown(silent)).toMatchObject(['error', { code: 'overloaded', retryAfterSeconds: 1 }])
  })

  test('cancels again what it gave up while Redis was away, until workers have ended it', async () => {
    const stream = open()
    hear(stream, 1, ['open', 0], ['text', 'half of it'])
    isRedisThere = false
    hub.failAll()
    const stopping = hub.stop()
    await passed(500)
    expect(toldOf('cancel')).toEqual([])
    isRedisThere = true
    await passed(1_000)
    expect(toldOf('cancel')).toMatchObject([
      { callId: stream, ending: { by: 'gateway', deliveredChars: 10 } },
    ])
    hearFrom('w1', [stream, 1, 2, ['error', { code: 'overloaded', message: 'ended' }], RUN])
    await passed(200)
    await stopping
  })

  test('waits for no worker longer than two seconds', async () => {
    hear(open(), 1, ['open', 0])
    hub.failAll()
    let isStopped = false
    const stopping = hub.stop().then(() => {
      isStopped = true
    })
    await passed(1_900)
    expect(isStopped).toBe(false)
    await passed(300)
    expect(isStopped).toBe(true)
    await stopping
  })
})

describe('the ends that an instance delivered', () => {
  const ended = () => {
    const id = open()
    hear(id, 1, ['open', 0], ['text', 'all of it'], FINISH)
    return id
  }

  test('are acknowledged together, about once a second, also when no call is left', async () => {
    const first = [ended(), ended()]
    await passed(300)
    expect(acknowledged).toEqual([first])
    const others = [ended(), ended()]
    await passed(600)
    expect(acknowledged).toHaveLength(1)
    await passed(600)
    expect(acknowledged).toEqual([first, others])
  })

  test('are acknowledged once they are written, where something is done before', async () => {
    const stored = Promise.withResolvers<void>()
    const id = open(stored.promise)
    hear(id, 1, ['open', 0], ['text', 'all of it'], FINISH)
    await passed(2_000)
    expect(acknowledged).toEqual([])
    stored.resolve()
    await passed(1_500)
    expect(acknowledged).toEqual([[id]])
  })

  test('are acknowledged again, those of the last minute, where Redis may have lost its last writes', async () => {
    const old = ended()
    await passed(50_000)
    const [first, second] = [ended(), ended()]
    await passed(11_000)
    expect(acknowledged).toEqual([[old], [first, second]])
    hub.acknowledgeAgain()
    await passed(1_500)
    expect(acknowledged.slice(2).map((ids) => ids.toSorted())).toEqual([[first, second].toSorted()])
    // Redis forgot the end as well: its worker published it again.
    hear(first, 1, FINISH)
    hearFrom('w2', [second, 1, 0, FINISH, 'b'])
    await passed(1_500)
    expect(acknowledged.slice(3)).toEqual([[first]])
  })

  test('are acknowledged when Redis is back, and when the instance stops', async () => {
    isRedisThere = false
    const first = ended()
    await passed(2_500)
    expect(acknowledged).toEqual([])
    isRedisThere = true
    await passed(1_500)
    expect(acknowledged).toEqual([[first]])
    const last = ended()
    await stopped()
    expect(acknowledged).toEqual([[first], [last]])
  })
})
