import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ControlMessage } from '../../src/core/calls/frames.ts'
import { createRedis, type Redis } from '../../src/platform/redis/redis.ts'
import { controlChannel, queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { ask } from '../helpers/chat-client.ts'
import { expectLedgerInOrder, waitingCalls } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const WORKERS = 3
const WAITING = 4
/** Longer than the silence after which a call is looked up. */
const SILENT_MS = 6_500

const stack = testStack({
  dispatchWorkers: WORKERS,
  environment: { WORKER_CONCURRENCY: '1' },
  models: {
    'test/held': [{ at: 'alpha', model: 'words-60.held' }],
    'test/hangs': [{ at: 'alpha', model: 'hang' }],
  },
})
const caller = testAccount(stack, '5.00')
let listener: Redis
let sent: Array<ControlMessage & { channel: string }>

beforeAll(async () => {
  listener = createRedis({ url: stack.redisServer.url, name: 'test-listener', mode: 'wait' })
  listener.on('pmessage', (_pattern: string, channel: string, message: string) =>
    sent.push({ channel, ...(JSON.parse(message) as ControlMessage) }),
  )
  await listener.psubscribe(`${controlChannel('')}*`, controlChannel('').replace(/:$/, ''))
})
afterAll(() => listener.disconnect())
beforeEach(() => {
  sent = []
  stack.providers.reset()
})

const channels = () => [...new Set(sent.map(({ channel }) => channel))]
const runningCalls = () => stack.redis.llen(`${queuePrefix(0)}:dispatch:active`)
const passed = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('a silent call asks the worker that has it, and a waiting call asks none', async () => {
  const answers = Promise.all(
    Array.from({ length: WORKERS + WAITING }, () => ask(caller, { model: 'test/held' })),
  )
  await expect.poll(() => runningCalls()).toBe(WORKERS)
  await expect.poll(() => waitingCalls(stack.redis)).toBe(WAITING)
  await passed(SILENT_MS)
  const asked = new Map(sent.map(({ callId, channel }) => [callId, channel]))
  expect(new Set(sent.map(({ kind }) => kind))).toEqual(new Set(['resend']))
  expect(asked.size).toBe(WORKERS)
  expect(channels()).toHaveLength(WORKERS)
  expect(sent).toHaveLength(WORKERS)
  // The calls that waited are held, too, once they run.
  const releasing = setInterval(() => stack.providers.release(), 50)
  for (const { status } of await answers) expect(status).toBe(200)
  clearInterval(releasing)
  await expectLedgerInOrder(stack)
})

test('a call whose client leaves before its first frame is ended by its worker alone', async () => {
  const leaving = new AbortController()
  const refused = expect(ask(caller, { model: 'test/hangs' }, leaving.signal)).rejects.toThrow()
  await stack.providers.log.arrived()
  leaving.abort()
  await stack.providers.log.abortedBy()
  await refused
  expect(channels()).toHaveLength(1)
  expect(sent[0]).toMatchObject({ kind: 'cancel', ending: { by: 'client' } })
  await expectLedgerInOrder(stack)
})
