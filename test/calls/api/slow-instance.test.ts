import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CallHub } from '../../../src/calls/api/call-hub.ts'
import { CallOutbox } from '../../../src/calls/worker/call-outbox.ts'
import { FramePublisher } from '../../../src/calls/worker/frame-publisher.ts'
import { listenForControl } from '../../../src/calls/worker/listen-for-control.ts'
import { RunningCalls } from '../../../src/calls/worker/running-calls.ts'
import type { FrameBody } from '../../../src/core/calls/frames.ts'
import { newCallId } from '../../../src/core/kernel/ids.ts'
import { createRedis, type Redis } from '../../../src/platform/redis/redis.ts'
import { claimedOf, envelopeOf, jobOf } from '../../helpers/call-shapes.ts'
import { createTestRedis, type TestRedis } from '../../helpers/services.ts'

const CALLS = 200
const FRAMES = 60
const WORD = 'x'.repeat(1_000)
const LIMIT_BYTES = 2 * 1024 * 1024
const LOGGER = pino({ level: 'silent' })

let server: TestRedis
let connections: Redis[]

beforeAll(async () => {
  server = await createTestRedis()
  connections = []
})
afterAll(async () => {
  for (const redis of connections) redis.disconnect()
  await server.close()
})

const connect = (name: string): Redis => {
  const redis = createRedis({ url: server.url, name, mode: 'wait', logger: LOGGER })
  connections.push(redis)
  return redis
}

/** A worker, as src/compose/dispatch.ts composes its part in the relay. */
async function startWorker() {
  const calls = new RunningCalls()
  const publisher = new FramePublisher({
    worker: 'w1',
    redis: connect('frames'),
    logger: LOGGER,
    onLost: (frames) => calls.noteLost(frames),
    // It comes back soon, as far as a busy machine allows.
    onUnacknowledged: () => undefined,
    openChannels: () => calls.channels(),
    onRound: () => calls.markSent(Date.now()),
    clock: Date.now,
  })
  await listenForControl(connect('control'), 'w1', (message) => calls.control(message))
  return { calls, publisher }
}

describe('an API instance that falls so far behind that Redis cuts it off', () => {
  test('loses no frame of any stream, although Redis keeps less for it than it missed', async () => {
    const subscriber = connect('replies')
    const redis = connect('holds')
    await redis.config('SET', 'client-output-buffer-limit', `pubsub ${LIMIT_BYTES} 0 0`)
    const hub = new CallHub({
      apiId: 'api-1',
      shard: 0,
      subscriber,
      publisher: redis,
      logger: LOGGER,
      clock: Date.now,
      places: { add: () => undefined },
    })
    await hub.start()
    const { calls, publisher } = await startWorker()
    const delivered: FrameBody[][] = []
    const running = Array.from({ length: CALLS }, () => {
      const id = newCallId()
      const bodies: FrameBody[] = []
      delivered.push(bodies)
      const sink = {
        frame: (body: FrameBody) => void bodies.push(body),
        flush: () => undefined,
        tick: () => undefined,
      }
      hub.register(envelopeOf({ id, queueDeadlineAt: Date.now() + 600_000 }), sink, () => undefined)
      const { channel } = hub
      const outbox = new CallOutbox({ publisher, callId: id, channel, generation: 1, wholeUpToBytes: 0 })
      return calls.add(claimedOf(jobOf({ id })), outbox)
    })
    for (const { outbox } of running) outbox.send(['open', 0])
    await expect.poll(() => delivered.every((bodies) => bodies.length === 1)).toBe(true)

    subscriber.stream.pause()
    for (const { outbox } of running) {
      for (let frame = 0; frame < FRAMES; frame++) outbox.send(['text', WORD])
      outbox.send(['finish', 'stop', null])
    }
    const listeners = async () => ((await redis.pubsub('NUMSUB', hub.channel)) as [string, number])[1]
    await expect.poll(listeners).toBe(0)
    subscriber.stream.resume()

    const expected = ['open', ...Array<string>(FRAMES).fill('text'), 'finish']
    const isWhole = (bodies: FrameBody[]) => bodies.at(-1)?.[0] === 'finish'
    await expect.poll(() => delivered.filter(isWhole).length).toBe(CALLS)
    for (const bodies of delivered) expect(bodies.map(([kind]) => kind)).toEqual(expected)
    publisher.stop()
    await hub.stop()
  })
})
