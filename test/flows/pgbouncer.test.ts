import { expect, test } from 'vitest'
import { ask, streamed } from '../helpers/chat-client.ts'
import { untilIdle } from '../helpers/ledger.ts'
import { startPgBouncer, type TestPgBouncer } from '../helpers/pgbouncer.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const WORDS = 20
const AT_A_TIME = 10
const RESTARTS = 3
/** Fewer than the pools of the processes have together. */
const SERVER_CONNECTIONS = 4

let pgBouncer: TestPgBouncer

const stack = testStack({
  processes: ['api', 'dispatch', 'settlement'],
  environment: { JOB_LOCK_MS: '2000' },
  models: { 'test/plain': [{ at: 'alpha', model: `words-${WORDS}.latency-50` }] },
  async pooler(databaseUrl) {
    pgBouncer = await startPgBouncer(databaseUrl, {
      default_pool_size: String(SERVER_CONNECTIONS),
      reserve_pool_size: '0',
    })
    return pgBouncer
  },
})
const caller = testAccount(stack, '50.00')

async function audited(): Promise<void> {
  expect((await stack.command('audit')).json).toMatchObject({ ok: true })
}

/** Calls of many clients until `done` resolves. Returns their ids. */
async function callsUntil(done: Promise<void>): Promise<string[]> {
  const ids: string[] = []
  let isDone = false
  const callOn = async (index: number) => {
    while (!isDone) {
      const how = index % 2 === 0 ? ask : streamed
      const answer = await how(caller, { model: 'test/plain', max_tokens: 100 })
      expect(answer).toMatchObject({ status: 200, finishReason: 'stop' })
      ids.push(answer.id!)
    }
  }
  const calling = Promise.all(Array.from({ length: AT_A_TIME }, (_, index) => callOn(index)))
  try {
    await done
  } finally {
    isDone = true
  }
  await calling
  return ids
}

test('calls, settlement, reports and the audit work behind PgBouncer in transaction mode', async () => {
  const settled = async () => {
    await expect.poll(() => stack.postgres.callRecord.count()).toBeGreaterThan(50)
  }
  const ids = await callsUntil(settled())
  await untilIdle(stack)
  expect(await stack.postgres.callRecord.count({ where: { id: { in: ids } } })).toBe(ids.length)
  const usage = await fetch(`${caller.url}/v1/usage`, { headers: { authorization: `Bearer ${caller.key}` } })
  expect(usage.status).toBe(200)
  await audited()
  const pools = await pgBouncer.console<{ pool_mode: string }>('SHOW POOLS')
  const servers = await pgBouncer.console('SHOW SERVERS')
  const clients = await pgBouncer.console('SHOW CLIENTS')
  expect(pools.map(({ pool_mode }) => pool_mode)).toContain('transaction')
  expect(servers.length).toBeLessThanOrEqual(SERVER_CONNECTIONS)
  expect(clients.length).toBeGreaterThan(SERVER_CONNECTIONS)
})

test('a PgBouncer that is killed and restarted under load costs no call and no settlement', async () => {
  const restarts = async () => {
    for (let count = 0; count < RESTARTS; count++) {
      const known = await stack.postgres.callRecord.count()
      await expect.poll(() => stack.postgres.callRecord.count()).toBeGreaterThan(known + 20)
      await pgBouncer.kill()
      await pgBouncer.restart()
    }
  }
  const ids = await callsUntil(restarts())
  await untilIdle(stack)
  const records = await stack.postgres.callRecord.findMany({ where: { id: { in: ids } } })
  expect(records).toHaveLength(ids.length)
  for (const { status, completionTokens } of records)
    expect({ status, completionTokens }).toEqual({ status: 'completed', completionTokens: WORDS })
  await audited()
})
