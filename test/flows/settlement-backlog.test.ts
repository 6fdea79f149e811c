import { pino } from 'pino'
import { beforeAll, expect, test } from 'vitest'
import { settlementBytesKey } from '../../src/platform/queues/settlement-backlog.ts'
import { ask } from '../helpers/chat-client.ts'
import { eventually, onBusyMachine } from '../helpers/eventually.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const BYTES_MAX = 60_000
const CALLERS = 8
/** More than the record of one call. */
const RECORD_BYTES = 4_000

const logged: Array<{ alarm?: string; alarmsOver?: string[] }> = []
const logger = pino({ level: 'info' }, { write: (line: string) => void logged.push(JSON.parse(line)) })
const stack = testStack({
  databaseProxy: true,
  logger,
  environment: { SETTLEMENT_BACKLOG_BYTES_MAX: String(BYTES_MAX) },
  models: { 'test/plain': [{ at: 'alpha', model: 'words-20' }] },
})
const caller = testAccount(stack, '50.00')
// The key is cached and the balance in Redis from here on.
beforeAll(async () => void (await ask(caller, { model: 'test/plain' })))

const bytes = async () => Number(await stack.redis.get(settlementBytesKey(0)))
const call = () => ask(caller, { model: 'test/plain' })

test('calls are accepted without PostgreSQL until the backlog is full, then get 503 until it is settled', async () => {
  stack.databaseProxy!.refuse()
  const served: string[] = []
  let isRefused = false
  const callUntilRefused = async () => {
    while (!isRefused) {
      const answer = await call()
      if (answer.status === 200) served.push(answer.id!)
      else {
        expect(answer).toMatchObject({ status: 503, errorCode: 'overloaded' })
        isRefused = true
      }
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, callUntilRefused))
  expect(await bytes()).toBeGreaterThanOrEqual(BYTES_MAX)
  expect(logged).toContainEqual(expect.objectContaining({ alarm: 'settlement-backlog-full' }))

  const full = await bytes()
  const askedAt = performance.now()
  for (let index = 0; index < 20; index++) expect(await call()).toMatchObject({ status: 503 })
  expect(performance.now() - askedAt).toBeLessThan(onBusyMachine(2_000))
  // What was running when the bound was reached is all that came on top.
  expect(await bytes()).toBeLessThanOrEqual(full + CALLERS * RECORD_BYTES)

  stack.databaseProxy!.restore()
  await eventually(async () => expect((await call()).status).toBe(200))
  expect(logged).toContainEqual(expect.objectContaining({ alarmsOver: ['settlement-backlog-full'] }))
  await expectLedgerInOrder(stack)
  expect(await bytes()).toBe(0)
  const records = await stack.postgres.callRecord.findMany({ where: { id: { in: served } } })
  expect(records).toHaveLength(served.length)
  for (const record of records) expect(record.chargePico).toBeGreaterThan(0n)
})
