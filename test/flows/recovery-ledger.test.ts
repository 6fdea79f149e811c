import { ulid } from 'ulid'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { CallId } from '../../src/core/kernel/ids.ts'
import { accountKeys } from '../../src/platform/redis/redis-keys.ts'
import { ask, streamed } from '../helpers/chat-client.ts'
import { expectLedgerInOrder, sweepNow, untilIdle } from '../helpers/ledger.ts'
import { openHold } from '../helpers/open-hold.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import type { Part } from '../helpers/stack-part.ts'

const WORDS = 20
/** Long enough for every kind of timeout of the settlement's connections to pass. */
const AWAY_MS = 8_000
const AT_A_TIME = 10

let settlement: Part

const stack = testStack({
  processes: ['dispatch', 'settlement'],
  databaseProxy: true,
  dispatchWorkers: 2,
  environment: { JOB_LOCK_MS: '2000' },
  models: { 'test/plain': [{ at: 'alpha', model: `words-${WORDS}.latency-50` }] },
})
const caller = testAccount(stack, '50.00')
beforeAll(async () => {
  settlement = stack.settlement
  // The key is cached and the balance in Redis from here on.
  await ask(caller, { model: 'test/plain' })
  await untilIdle(stack)
})
afterEach(async () => {
  stack.databaseProxy!.restore()
  await expectLedgerInOrder(stack)
})

describe('PostgreSQL away under load', () => {
  test('calls continue without PostgreSQL, and all settlements commit afterwards although processes die', async () => {
    stack.databaseProxy!.refuse()
    const endsAt = Date.now() + AWAY_MS
    const ids: string[] = []
    const callOn = async (index: number) => {
      while (Date.now() < endsAt) {
        const how = index % 2 === 0 ? ask : streamed
        const answer = await how(caller, { model: 'test/plain', max_tokens: 100 })
        expect(answer).toMatchObject({ status: 200, finishReason: 'stop' })
        ids.push(answer.id!)
      }
    }
    const calling = Promise.all(Array.from({ length: AT_A_TIME }, (_, index) => callOn(index)))
    await expect.poll(() => ids.length).toBeGreaterThan(100)
    await settlement.kill()
    settlement = await stack.startSettlement()
    await calling
    // A dispatch worker that goes now takes what it kept against a loss of Redis with it; Redis has it all.
    await stack.dispatch[0]!.kill()
    const before = await stack.postgres.callRecord.count()
    stack.databaseProxy!.restore()
    await untilIdle(stack, 30_000)
    const records = await stack.postgres.callRecord.findMany({ where: { id: { in: ids } } })
    expect(records).toHaveLength(ids.length)
    for (const { status, completionTokens } of records) {
      expect({ status, completionTokens }).toEqual({ status: 'completed', completionTokens: WORDS })
    }
    expect(await stack.postgres.callRecord.count()).toBe(before + ids.length)
    console.info(`${ids.length} calls while PostgreSQL was away`)
  })
})

describe('maintenance', () => {
  const holds = (field: 'avail' | 'held' | 'holds') => accountKeys(caller.accountId)[field]

  test('finds a hold whose call is gone, gives it back, and settles the call as failed', async () => {
    const callId: CallId = `chatcmpl_${ulid(Date.now() - 120_000)}`
    await openHold(stack.redis, caller.accountId, callId, 1_000_000n)
    expect(await stack.redis.hget(holds('holds'), callId)).not.toBeNull()
    expect(await sweepNow(stack)).toBe(1)
    expect(await stack.postgres.callRecord.findUnique({ where: { id: callId } })).toMatchObject({
      status: 'failed',
      chargePico: 0n,
    })
  })

  test.each([
    ['available is too high', 'avail', 'INCRBY', '5000000'],
    ['available is too low', 'avail', 'DECRBY', '5000000'],
    ['held is not the sum of the holds', 'held', 'INCRBY', '77'],
  ] as const)('finds and repairs drift: %s', async (_, field, command, by) => {
    await stack.redis.call(command, holds(field), by)
    const red = await stack.command('audit')
    expect(red.code).toBe(1)
    expect(red.json.ok).toBe(false)
    const subjects = (red.json.discrepancies as Array<{ subject: string }>).map(({ subject }) => subject)
    expect(new Set(subjects)).toEqual(new Set([caller.accountId]))
    await sweepNow(stack)
    const green = await stack.command('audit')
    expect(green.json).toMatchObject({ ok: true })
    expect(green.code).toBe(0)
  })

  test('corrects by a new entry what an operator found wrong', async () => {
    const before = await stack.postgres.account.findUniqueOrThrow({ where: { id: caller.accountId } })
    const adjusted = await stack.command(
      'admin',
      'account',
      'adjust',
      caller.accountId,
      '--amount',
      '-1.00',
      '--reason',
      'credited twice',
      '--reference',
      'TICKET-1',
    )
    expect(adjusted).toMatchObject({ code: 0, json: { adjusted_usd: '-1.00', spendable_now: true } })
    const after = await stack.postgres.account.findUniqueOrThrow({ where: { id: caller.accountId } })
    expect(after.balancePico).toBe(before.balancePico - 1_000_000_000_000n)
    expect(await stack.redis.get(holds('avail'))).toBe(String(after.balancePico))
    const refused = await stack.command(
      'admin',
      'account',
      'adjust',
      caller.accountId,
      '--amount',
      '-1000',
      '--reason',
      'x',
    )
    expect(refused).toMatchObject({ code: 1 })
    expect(String(refused.json.error)).toContain('is available')
  })
})
