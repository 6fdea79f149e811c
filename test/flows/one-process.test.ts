import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { freePort } from '../../tools/launcher/ports.ts'
import { ask, stream } from '../helpers/chat-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { startRedisMonitor } from '../helpers/redis-monitor.ts'
import { testStack } from '../helpers/resources.ts'
import { type Part, spawnPart } from '../helpers/stack-part.ts'

const MODEL = 'test/plain'
const WORDS = 60
/** Connections of workers wait for ten seconds. */
const HANGS_MS = 12_000
let gateway: Part
let url: string
let metricsUrl: string

const stack = testStack({
  durableRedis: true,
  environment: { JOB_LOCK_MS: '2000', QUEUE_WAIT_MS: '5000' },
  models: {
    [MODEL]: [{ at: 'alpha', model: `words-${WORDS}` }],
    'test/begun': { context_length: 1_000_000, offers: [{ at: 'alpha', model: `words-${WORDS}.held-10` }] },
    'test/hangs': { context_length: 1_000_000, offers: [{ at: 'alpha', model: 'hang' }] },
    'test/steady': [{ at: 'alpha', model: `words-${WORDS}.rate-20` }],
  },
})
beforeAll(async () => {
  // Nobody else is there to serve or to settle.
  await Promise.all([...stack.apis, ...stack.dispatch, stack.settlement].map((part) => part.stop()))
  gateway = await startGateway()
})

async function startGateway(): Promise<Part> {
  const [port, metricsPort] = [await freePort(), await freePort()]
  url = `http://127.0.0.1:${port}`
  metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
  const started = spawnPart('workers/main.ts', ['all'], {
    ...stack.environment,
    PORT: String(port),
    METRICS_PORT: String(metricsPort),
  })
  await eventually(async () => expect((await fetch(`${url}/readyz`)).ok).toBe(true))
  return started
}
afterAll(async () => {
  await gateway?.stop()
})

test('the metrics port serves health and readiness too', async () => {
  expect((await fetch(new URL('/healthz', metricsUrl))).status).toBe(200)
  const ready = await fetch(new URL('/readyz', metricsUrl))
  expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready' }])
})

test('API, dispatch and settlement in one process serve calls and settle them', async () => {
  const { accountId, key } = await stack.account('5.00')
  const whole = await ask({ url, key }, { model: MODEL })
  expect(whole).toMatchObject({ status: 200, finishReason: 'stop' })
  const streamed = await (await stream({ url, key }, { model: MODEL })).end
  expect(streamed).toMatchObject({ status: 200, text: whole.text, done: true })
  await stack.settled(accountId)
  const records = await stack.postgres.callRecord.findMany({ where: { accountId } })
  expect(records.map(({ status }) => status)).toEqual(['completed', 'completed'])
  expect((await stack.command('audit')).code).toBe(0)
})

test('calls that end as Redis hangs for longer than its connections wait are answered whole', async () => {
  const { accountId, key } = await stack.account('5.00')
  const open = await Promise.all(
    Array.from({ length: 20 }, () => stream({ url, key }, { model: 'test/begun' })),
  )
  await Promise.all(open.map((one) => one.said(30)))
  stack.redisServer.pause()
  stack.providers.release()
  await delay(HANGS_MS)
  stack.redisServer.resume()
  for (const { end } of open)
    expect(await end).toMatchObject({ status: 200, done: true, finishReason: 'stop', errorCode: null })
  await stack.settled(accountId)
  const records = await stack.postgres.callRecord.findMany({ where: { accountId } })
  expect(new Set(records.map(({ status }) => status))).toEqual(new Set(['completed']))
  expect((await stack.command('audit')).code).toBe(0)
})

/** Three turns of 400 kB in all, which would be stored in PostgreSQL for another process. */
const LONG = ['user', 'assistant', 'user'].map((role) => ({ role, content: 'Rail yards. '.repeat(11_000) }))

test('a long call is claimed with its admission, and neither its text nor its frames leave the process', async () => {
  const { key } = await stack.account('5.00')
  const commands: string[][] = []
  const monitor = await startRedisMonitor(stack.redisServer.url, (args) => commands.push(args))
  const open = await stream({ url, key }, { model: 'test/begun', messages: LONG })
  await open.said(30)
  expect(await stack.redis.llen(`${queuePrefix(0)}:dispatch:active`)).toBe(1)
  stack.providers.release()
  const { id, done, text } = await open.end
  expect(done).toBe(true)
  expect(text.split(' ')).toHaveLength(WORDS)
  const seen = (command: string, word: string) =>
    commands.filter(([name, ...args]) => name!.toLowerCase() === command && args.join(' ').includes(word))
  await eventually(() => expect(seen('del', `dispatch:${id}`)).toHaveLength(1))
  await monitor.stop()
  expect(seen('lpush', `dispatch:active ${id}`)).toHaveLength(1)
  expect(seen('zadd', 'dispatch:marker')).toEqual([])
  expect(seen('publish', id!)).toEqual([])
  expect(Math.max(...commands.map((args) => args.join(' ').length))).toBeLessThan(100_000)
  expect(await stack.postgres.callBody.count()).toBe(0)
})

test('a client that leaves ends its call, which is charged for what was produced', async () => {
  const { accountId, key } = await stack.account('5.00')
  const open = await stream({ url, key }, { model: 'test/begun' })
  await open.said(30)
  open.hangUp()
  await stack.settled(accountId)
  const [record] = await stack.postgres.callRecord.findMany({ where: { accountId } })
  expect(record).toMatchObject({ status: 'cancelled' })
  expect(record!.completionTokens).toBeGreaterThan(0)
  expect(record!.completionTokens).toBeLessThan(WORDS)
})

test('a stream continues while Redis is unavailable and ends whole once it is back', async () => {
  const { accountId, key } = await stack.account('5.00')
  const open = await stream({ url, key }, { model: 'test/steady' })
  await open.said(30)
  await stack.redisServer.kill()
  const { length } = open.soFar.text
  await open.said(length + 30)
  await stack.redisServer.restart()
  expect(await open.end).toMatchObject({ done: true, finishReason: 'stop', errorCode: null })
  await stack.settled(accountId)
  const [record] = await stack.postgres.callRecord.findMany({ where: { accountId } })
  expect(record).toMatchObject({ status: 'completed', completionTokens: WORDS })
})

test('when it is killed, its calls end in the next process, charged for no more than was shown', async () => {
  const { accountId, key } = await stack.account('5.00')
  const open = await stream({ url, key }, { model: 'test/begun' })
  await open.said(30)
  const unshown = ask({ url, key }, { model: 'test/hangs', messages: LONG }).catch(() => 'cut off')
  await stack.providers.log.arrived(({ model, state }) => state === 'open' && model === 'hang')
  await gateway.kill()
  const shown = await open.end.catch(() => open.soFar)
  expect(shown.done).toBe(false)
  expect(await unshown).toBe('cut off')
  gateway = await startGateway()
  await stack.settled(accountId)
  const records = await stack.postgres.callRecord.findMany({ where: { accountId } })
  expect(records).toHaveLength(2)
  for (const { status, completionTokens } of records) {
    expect(status).not.toBe('completed')
    expect(completionTokens).toBeLessThanOrEqual(shown.text.split(' ').length)
  }
  expect(records.find(({ id }) => id !== shown.id)).toMatchObject({ status: 'failed', chargePico: 0n })
  expect((await stack.command('audit')).code).toBe(0)
})

test('metrics of one process are labelled by role, and each is named once', async () => {
  const text = await (await fetch(metricsUrl)).text()
  const settled = /^shuntyard_settled_calls_total\{role="settlement"\} (\d+)/m.exec(text)
  expect(Number(settled?.[1])).toBeGreaterThanOrEqual(1)
  expect(text).toMatch(/^process_resident_memory_bytes\{role="all"\} \d/m)
  const named = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
  expect(named.filter((name, index) => named.indexOf(name) !== index)).toEqual([])
})

test('one process with all roles exits cleanly on SIGTERM', async () => {
  await gateway.stop()
  expect(await gateway.exited).toBe(0)
})
