import { Writable } from 'node:stream'
import pino from 'pino'
import { expect, test } from 'vitest'
import { ask } from '../helpers/chat-client.ts'
import { untilIdle } from '../helpers/ledger.ts'
import { type PostgresPair, startPostgresPair } from '../helpers/postgres-pair.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

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
const environment: Record<string, string> = {}
let pair: PostgresPair
const stack = testStack({
  logger,
  environment,
  async database() {
    pair = await startPostgresPair()
    environment.DATABASE_REPORTS_URL = pair.replicaUrl
    return { url: pair.url, drop: () => pair.close() }
  },
})
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
const raised = () => lines.filter((line) => line.alarm === 'reports-replica-away').length
const ended = () => lines.filter((line) => String(line.alarmsOver) === 'reports-replica-away').length

test('usage is read from the replica: what it has not applied is not shown yet', async () => {
  await call()
  await expect.poll(callsInUsage).toBe(1)
  await pair.pauseReplay()
  await call()
  expect(await callsInUsage()).toBe(1)
  // A decision about money never comes from it.
  const key = await fetch(`${caller.url}/v1/key`, { headers: { authorization: `Bearer ${caller.key}` } })
  expect(key.status).toBe(200)
  await pair.resumeReplay()
  await expect.poll(callsInUsage).toBe(2)
  expect(raised()).toBe(0)
})

test('the primary is read while the replica is away, with an alarm that ends when it is back', async () => {
  await call()
  await expect.poll(callsInUsage).toBe(3)
  await pair.killReplica()
  await call()
  expect(await callsInUsage()).toBe(4)
  await expect.poll(raised).toBe(1)
  expect(await callsInUsage()).toBe(4)
  await pair.startReplica()
  await expect.poll(ended).toBe(1)
  await pair.pauseReplay()
  await call()
  expect(await callsInUsage()).toBe(4)
  await pair.resumeReplay()
  await expect.poll(callsInUsage).toBe(5)
})
