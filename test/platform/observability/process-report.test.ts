import pino from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProcessReport, readProcesses } from '../../../src/platform/observability/process-report.ts'
import { readTraffic } from '../../../src/platform/observability/traffic.ts'
import { createRedis, type Redis } from '../../../src/platform/redis/redis.ts'
import { ALARMS } from '../../../src/platform/redis/redis-keys.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createTestRedis, type TestRedis } from '../../helpers/services.ts'

let server: TestRedis
let redis: Redis

beforeAll(async () => {
  server = await createTestRedis({ durable: true })
  redis = createRedis({ url: server.url, name: 'test', mode: 'fail-fast' })
})
afterAll(async () => {
  redis.disconnect()
  await server.close()
})

const figures = () => ({ inFlightCalls: 3, concurrency: 8 })
const alarms = async () =>
  (await redis.xrange(ALARMS, '-', '+')).map(([, fields]) => JSON.parse(fields[1] ?? ''))

async function counted(figure: string): Promise<bigint> {
  const minutes = await readTraffic(redis, Date.now() - 120_000, Date.now() + 60_000)
  const texts = [...minutes.values()].flatMap((fields) =>
    Object.entries(fields).flatMap(([field, count]) => (field.endsWith(`:${figure}`) ? [count] : [])),
  )
  return texts.reduce((sum, text) => sum + BigInt(text), 0n)
}

test('what is counted and raised while Redis is away is there when it is back', async () => {
  const registry = new Registry()
  const report = createProcessReport('dispatch', pino({ level: 'silent' }), registry)
  report.start(redis, figures)
  await eventually(async () => expect(await readProcesses(redis)).toHaveLength(1))
  await server.kill()
  for (let count = 0; count < 50; count++) {
    report.traffic.add([['calls:completed', 2n]])
    report.logger.error({ alarm: 'breaker-opened', offerId: 'alpha/x' }, 'a breaker opened')
  }
  // A report fails meanwhile.
  await expect(redis.ping()).rejects.toThrow()
  await server.restart()
  await eventually(async () => expect(await counted('calls:completed')).toBe(100n))
  await eventually(async () => {
    const raised = await alarms()
    expect(raised.reduce((sum, { count }) => sum + count, 0)).toBe(50)
  })
  const metric = await registry.getSingleMetricAsString('shuntyard_alarms_total')
  expect(metric).toContain('shuntyard_alarms_total{kind="breaker-opened"} 50')
  await report.stop()
  expect(await readProcesses(redis)).toEqual([])
})

test('a process says what it does and its last error, without what was logged with it', async () => {
  const lines: string[] = []
  const logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
  const report = createProcessReport('api', logger, new Registry())
  report.finished('2xx')
  report.finished('2xx')
  report.logger.error({ err: new Error('sk-secret') }, 'request failed')
  report.logger.warn('not an error')
  report.start(redis, figures)
  const [view] = await eventually(async () => {
    const found = await readProcesses(redis)
    expect(found).toHaveLength(1)
    return found
  })
  expect(view).toMatchObject({
    role: 'api',
    pid: process.pid,
    in_flight_calls: 3,
    concurrency: 8,
    finished: { '2xx': 2 },
    last_error: { message: 'request failed' },
  })
  expect(JSON.stringify(view)).not.toContain('secret')
  expect(lines).toHaveLength(1)
  await report.stop()
})

test('alarms are raised whatever level is logged', async () => {
  await redis.del(ALARMS)
  const report = createProcessReport('settlement', pino({ level: 'silent' }), new Registry())
  report.logger.warn({ alarm: 'account-suspended', accountId: 'acct_1' }, 'an account was suspended')
  for (let index = 0; index < 1_000; index++) {
    report.logger.error({ alarm: 'overspent', accountId: `acct_${index}` }, 'holds exceed the balance')
  }
  report.start(redis, figures)
  await eventually(async () => expect(await alarms()).not.toEqual([]))
  const raised = await alarms()
  expect(raised.find(({ kind }) => kind === 'account-suspended')).toMatchObject({
    subject: 'acct_1',
    count: 1,
  })
  // Bounded: beyond so many subjects only the kind is told.
  expect(raised.length).toBeLessThan(250)
  expect(raised.reduce((sum, { count }) => sum + count, 0)).toBe(1_001)
  await report.stop()
})
