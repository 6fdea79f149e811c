import { beforeAll, describe, expect, test } from 'vitest'
import { queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { ask, streamed } from '../helpers/chat-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectLedgerInOrder, sweepNow, untilIdle } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import type { Part } from '../helpers/stack-part.ts'

const WORDS = 20
/** Where settlement jobs are until they are done: a worker may have taken all of them before it notices. */
const UNSETTLED = ['wait', 'active'].map((list) => `${queuePrefix(0)}:settlement:${list}`)

let settlement: Part

const stack = testStack({
  processes: ['settlement'],
  databaseProxy: true,
  // What a killed worker had claimed is claimed again after this.
  environment: { JOB_LOCK_MS: '2000' },
  models: { 'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }] },
})
const caller = testAccount(stack, '50.00')
beforeAll(async () => {
  settlement = stack.settlement
  // The key is cached and the balance in Redis from here on.
  await ask(caller, { model: 'test/plain' })
})

/** Makes calls, some at a time, and returns their ids. Every one of them must succeed. */
async function load(calls: number, atATime = 20): Promise<string[]> {
  const ids: string[] = []
  let left = calls
  const callOn = async () => {
    while (left-- > 0) {
      const answer =
        left % 2 === 0
          ? await ask(caller, { model: 'test/plain' })
          : await streamed(caller, { model: 'test/plain' })
      expect(answer).toMatchObject({ status: 200, finishReason: 'stop' })
      ids.push(answer.id!)
    }
  }
  await Promise.all(Array.from({ length: atATime }, callOn))
  return ids
}

const TOTALS = ['usage_totals', 'spend_totals', 'ledger_totals']

/** Keeps the totals of now, for PostgreSQL to be taken back to. */
async function keepTotals(): Promise<void> {
  for (const table of TOTALS) {
    await stack.postgres.$executeRawUnsafe(`DROP TABLE IF EXISTS ${table}_before`)
    await stack.postgres.$executeRawUnsafe(`CREATE TABLE ${table}_before AS TABLE ${table}`)
  }
}

/** No bound of time: settlements may hold locks, on a machine that is busy. */
const UNHURRIED = { maxWait: 60_000, timeout: 60_000 }

/** Takes PostgreSQL back to before some calls were settled, as a failover to a standby that lags does. */
async function loseCommits(ids: string[], before: { balancePico: bigint; version: bigint }): Promise<void> {
  await stack.postgres.$transaction(async (transaction) => {
    await transaction.$executeRawUnsafe('SET LOCAL session_replication_role = replica')
    for (const [table, column] of [
      ['ledger_entries', 'transaction_id'],
      ['ledger_transactions', 'id'],
      ['call_records', 'id'],
    ])
      await transaction.$executeRawUnsafe(`DELETE FROM ${table} WHERE ${column} = ANY($1)`, ids)
    for (const table of TOTALS) {
      await transaction.$executeRawUnsafe(`DELETE FROM ${table}`)
      await transaction.$executeRawUnsafe(`INSERT INTO ${table} TABLE ${table}_before`)
    }
    await transaction.account.update({ where: { id: caller.accountId }, data: before })
  }, UNHURRIED)
}

async function expectSettledOnce(ids: string[]): Promise<void> {
  const { postgres } = stack
  const records = await postgres.callRecord.findMany({ where: { id: { in: ids } } })
  expect(records).toHaveLength(ids.length)
  for (const record of records) expect(record).toMatchObject({ status: 'completed', completionTokens: WORDS })
  const captures = await postgres.ledgerTransaction.groupBy({
    by: ['id'],
    where: { id: { in: ids }, kind: 'capture' },
    _count: true,
  })
  expect(captures).toHaveLength(ids.length)
  const { balancePico } = await postgres.account.findUniqueOrThrow({ where: { id: caller.accountId } })
  const { _sum } = await postgres.callRecord.aggregate({
    where: { accountId: caller.accountId },
    _sum: { chargePico: true },
  })
  expect(balancePico + (_sum.chargePico ?? 0n)).toBe(50_000_000_000_000n)
}

describe('a settlement worker', () => {
  test('killed under load beside another, which is killed when it is back: every call is settled once', async () => {
    const other = await stack.startSettlement()
    const loading = load(120)
    await expect.poll(() => stack.postgres.callRecord.count()).toBeGreaterThan(20)
    await settlement.kill()
    settlement = await stack.startSettlement()
    await expect.poll(() => stack.postgres.callRecord.count()).toBeGreaterThan(50)
    await other.kill()
    const ids = await loading
    await untilIdle(stack)
    await expectSettledOnce(ids)
    await expectLedgerInOrder(stack)
  })

  test('PostgreSQL loses its last commits, and the account is busy: settled again, without maintenance', async () => {
    await untilIdle(stack)
    const { balancePico, version } = await stack.postgres.account.findUniqueOrThrow({
      where: { id: caller.accountId },
    })
    await keepTotals()
    const lost = await load(6)
    await untilIdle(stack)
    await loseCommits(lost, { balancePico, version })
    // One transaction each: the version of the account is soon beyond what the balance cache has seen.
    const later = await load(8, 1)
    await eventually(() => expectSettledOnce([...lost, ...later]))
    await untilIdle(stack)
    await expectLedgerInOrder(stack)
  })

  test('PostgreSQL loses its last commits: what was settled in them is settled again', async () => {
    await untilIdle(stack)
    const { balancePico, version } = await stack.postgres.account.findUniqueOrThrow({
      where: { id: caller.accountId },
    })
    await keepTotals()
    const ids = await load(10)
    await untilIdle(stack)
    await loseCommits(ids, { balancePico, version })
    expect(await stack.postgres.callRecord.count({ where: { id: { in: ids } } })).toBe(0)
    await sweepNow(stack)
    await eventually(() => expectSettledOnce(ids))
    await expectLedgerInOrder(stack)
  })
})

describe('PostgreSQL away', () => {
  test.each([
    ['refusing connections', 'refuse'],
    ['silent', 'swallow'],
  ] as const)(
    '%s: calls continue, and their settlements commit afterwards although a settlement worker dies',
    async (_, how) => {
      const before = await stack.postgres.callRecord.count()
      stack.databaseProxy![how]()
      const ids = await load(20)
      await settlement.kill()
      settlement = await stack.startSettlement()
      ids.push(...(await load(20)))
      expect(await stack.postgres.callRecord.count()).toBe(before)
      const unsettled = await Promise.all(UNSETTLED.map((list) => stack.redis.llen(list)))
      expect(Math.max(...unsettled)).toBeGreaterThan(0)
      stack.databaseProxy!.restore()
      await untilIdle(stack)
      await expectSettledOnce(ids)
      await expectLedgerInOrder(stack)
    },
  )
})
