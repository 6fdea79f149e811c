import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { CallHub } from '../../src/calls/api/call-hub.ts'
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

test('an end that was lost with all its frames is requested from the worker that sent it', async () => {
  const { receive } = CallHub.prototype
  let lost = 0
  const receiving = vi.spyOn(CallHub.prototype, 'receive').mockImplementation(function (
    this: CallHub,
    from,
    frames,
  ) {
    if (lost === 0 && frames.length > 0) lost = frames.length
    else receive.call(this, from, frames)
  })
  const answer = ask(caller, { model: 'test/held' })
  await stack.providers.log.arrived()
  stack.providers.release()
  expect(await answer).toMatchObject({ status: 200 })
  receiving.mockRestore()
  expect(lost).toBe(1)
  expect(sent).toMatchObject([{ kind: 'resend' }])
  expect(channels()).toHaveLength(1)
  await expectLedgerInOrder(stack)
})
