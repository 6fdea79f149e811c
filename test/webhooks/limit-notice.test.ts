import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainKey } from '../../src/accounts/key-cache.ts'
import { createCleanupTasks } from '../../src/calls/cleanup-tasks.ts'
import { type AllowancePeriod, allowancePeriod } from '../../src/core/billing/allowance-period.ts'
import { accountBudget, keyBudget, memberBudget } from '../../src/core/billing/budget.ts'
import { createRedis, type Redis } from '../../src/platform/redis/redis.ts'
import { createLimitNotice } from '../../src/webhooks/limit-notice.ts'
import { openTestAccount, openTestLedger, type TestLedger } from '../helpers/billing.ts'
import { eventually } from '../helpers/eventually.ts'
import { createTestRedis, type TestRedis } from '../helpers/services.ts'

const MAY_FIFTH = Date.UTC(2026, 4, 5, 12)
const DAY_MS = 86_400_000

describe("the notice of a key's spending limit", () => {
  let ledger: TestLedger
  let server: TestRedis
  let redis: Redis
  beforeAll(async () => {
    ledger = await openTestLedger()
    server = await createTestRedis()
    redis = createRedis({ url: server.url, name: 'test', mode: 'fail-fast' })
  })
  afterAll(async () => {
    redis.disconnect()
    await server.close()
    await ledger.close()
  })

  const keyOf = async (keyId: string) => ({
    ...plainKey(await openTestAccount(ledger.postgres, 1n), keyId),
    name: 'ci',
    limitPico: 1_000_000_000_000n,
    limitReset: 'daily' as const,
  })
  const budgetOf = ({ accountId, keyId }: { accountId: string; keyId: string }, period: AllowancePeriod) => ({
    ...keyBudget(accountId, keyId),
    limitPico: 1_000_000_000_000n,
    period,
  })
  const noticer = (postgres = ledger.postgres) =>
    createLimitNotice({
      ...{ redis, postgres, groupLimit: async () => 0n },
      cleanup: createCleanupTasks(pino({ level: 'silent' })),
    })
  const eventsOf = (accountId: string) => ledger.postgres.event.findMany({ where: { accountId } })

  test('is one event a key and period, however many calls and instances refuse', async () => {
    const key = await keyOf('key_1')
    const instances = [noticer(), noticer(), noticer()]
    for (const day of [MAY_FIFTH, MAY_FIFTH + DAY_MS]) {
      const period = allowancePeriod('daily', day)
      for (let call = 0; call < 30; call += 1) instances[call % 3]!(key, budgetOf(key, period))
    }
    await eventually(async () => expect(await eventsOf(key.accountId)).toHaveLength(2))
    expect((await eventsOf(key.accountId)).map((event) => event.data)).toContainEqual({
      key_id: 'key_1',
      name: 'ci',
      limit_usd: '1.00',
      limit_reset: 'daily',
      resets_at: '2026-05-06T00:00:00.000Z',
    })
  })

  test('is one event of the member and one of the account a month, whichever of their keys is refused', async () => {
    const key = await keyOf('key_3')
    const { accountId } = key
    const memberId = await openTestAccount(ledger.postgres, 1n)
    const email = 'bo@example.test'
    await ledger.postgres.account.update({ where: { id: memberId }, data: { email } })
    const period = allowancePeriod('monthly', MAY_FIFTH)
    const limitPico = 2_000_000_000_000n
    const note = noticer()
    for (const keyId of ['key_3', 'key_4'])
      for (const holder of [memberBudget(accountId, memberId), accountBudget(accountId)])
        note({ ...key, keyId }, { ...holder, limitPico, period })
    await eventually(async () => expect(await eventsOf(accountId)).toHaveLength(2))
    const limit = { limit_usd: '2.00', limit_reset: 'monthly', resets_at: '2026-06-01T00:00:00.000Z' }
    expect((await eventsOf(accountId)).map(({ type, data }) => ({ type, data }))).toEqual(
      expect.arrayContaining([
        {
          type: 'member.limit_reached',
          data: { member_id: memberId, member_email: email, ...limit },
        },
        { type: 'account.limit_reached', data: limit },
      ]),
    )
  })

  test('is written once PostgreSQL is back', async () => {
    const key = await keyOf('key_2')
    let failures = 0
    const failing = new Proxy(ledger.postgres, {
      get(target, name) {
        if (name !== '$executeRawUnsafe' || failures >= 3) return Reflect.get(target, name)
        failures += 1
        return () => Promise.reject(new Error('postgres is away'))
      },
    })
    noticer(failing)(key, budgetOf(key, allowancePeriod('none', MAY_FIFTH)))
    await eventually(async () => expect(await eventsOf(key.accountId)).toHaveLength(1))
    expect(failures).toBe(3)
    expect((await eventsOf(key.accountId))[0]?.data).toMatchObject({ resets_at: null })
  })
})
