import { Writable } from 'node:stream'
import pino from 'pino'
import { expect, test } from 'vitest'
import { createClickHouse } from '../../src/platform/clickhouse.ts'
import { ask } from '../helpers/chat-client.ts'
import { startClickHouse, type TestClickHouse } from '../helpers/clickhouse.ts'
import { untilIdle } from '../helpers/ledger.ts'
import { filled, testAccount, testStack } from '../helpers/resources.ts'

const lines: Array<Record<string, unknown>> = []
const logger = pino(
  { level: 'info' },
  new Writable({
    write(chunk, _, done) {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  }),
)
const clickHouse: TestClickHouse = filled(startClickHouse, (running) => running.close(), 900_000)
const stack = testStack(() => ({ logger, environment: { CLICKHOUSE_URL: clickHouse.url } }))
const caller = testAccount(stack, '5.00')

/** How many calls the usage of this month says there were. */
async function callsInUsage(): Promise<number> {
  const response = await fetch(`${caller.url}/v1/usage`, {
    headers: { authorization: `Bearer ${caller.key}` },
  })
  expect(response.status).toBe(200)
  return ((await response.json()) as { total: { calls: number } }).total.calls
}
const call = async () => {
  expect(await ask(caller, { model: 'test/one' })).toMatchObject({ status: 200 })
  await untilIdle(stack)
}

test('usage comes from ClickHouse once it is filled, from PostgreSQL while it is away, and misses no call', async () => {
  await call()
  await expect.poll(callsInUsage).toBe(1)
  // A call that PostgreSQL does not have tells where the usage was read.
  const extra = { id: 'chatcmpl_extra', account_id: caller.accountId, admitted_at_ms: Date.now() - 1000 }
  await createClickHouse(clickHouse.url).insert('shuntyard_calls', [extra])
  await expect.poll(callsInUsage).toBe(2)
  await clickHouse.kill()
  await call()
  expect(await callsInUsage()).toBe(2)
  await expect.poll(() => lines.some(({ alarm }) => alarm === 'analytics-away')).toBe(true)
  await clickHouse.restart()
  await expect.poll(callsInUsage).toBe(3)
  await expect.poll(() => lines.some((line) => String(line.alarmsOver) === 'analytics-away')).toBe(true)
})
