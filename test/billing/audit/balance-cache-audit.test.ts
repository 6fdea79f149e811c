import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBalanceCacheAudit } from '../../../src/billing/audit/balance-cache-audit.ts'
import { createHoldStore, type HoldStore } from '../../../src/billing/holds/hold-store.ts'
import { createBalanceStore } from '../../../src/billing/ledger/balance-store.ts'
import { createSettlementStore } from '../../../src/billing/settlement/settlement-store.ts'
import { createRedis, type Redis } from '../../../src/platform/redis/redis.ts'
import { accountKeys } from '../../../src/platform/redis/redis-keys.ts'
import { openTestAccount, openTestLedger, settlementOf, type TestLedger } from '../../helpers/billing.ts'
import { createTestRedis, type TestRedis } from '../../helpers/services.ts'

describe('the audit of balance caches', () => {
  let ledger: TestLedger
  let server: TestRedis
  let redis: Redis
  let holds: HoldStore
  beforeAll(async () => {
    ;[ledger, server] = await Promise.all([openTestLedger(), createTestRedis()])
    redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
    holds = createHoldStore(redis)
  })
  afterAll(async () => {
    redis.disconnect()
    await Promise.all([server.close(), ledger.close()])
  })

  /** An account whose settlement of 50 has not reached Redis; `atSecondLook` runs while the audit waits for it. */
  const auditBehind = async (atSecondLook: (accountId: string) => Promise<unknown>) => {
    const accountId = await openTestAccount(ledger.postgres, 1_000n)
    await holds.load(accountId, { balancePico: 1_000n, version: 1n })
    await createSettlementStore(ledger.postgres).settle([settlementOf(accountId)])
    let looks = 0
    const audit = await openBalanceCacheAudit({
      holds: {
        ...holds,
        async inspect(id) {
          looks += 1
          if (looks === 2) await atSecondLook(id)
          return holds.inspect(id)
        },
      },
      balances: createBalanceStore(ledger.postgres),
      countJobs: async () => ({ dispatchJobs: 0, settlementJobs: 0 }),
      findQueued: async () => new Set(),
      accountedFor: async () => new Set(),
      clock: Date.now,
    })
    await audit.compare([accountId])
    const { checks } = await audit.finish()
    return checks.flatMap(({ discrepancies }) => discrepancies.map(({ detail }) => detail))
  }

  test('lets a cache that is behind catch up', async () => {
    expect(await auditBehind((id) => holds.apply(id, { balancePico: 950n, version: 2n }, []))).toEqual([])
  })

  test('compares a cache that was behind once it has caught up', async () => {
    const wrong = async (id: string) => {
      await holds.apply(id, { balancePico: 950n, version: 2n }, [])
      await redis.hincrby(accountKeys(id).record, 'avail', 7)
    }
    expect(await auditBehind(wrong)).toEqual(['available 957 is not balance 950 less held 0'])
  })

  test('reports a cache that stays behind', async () => {
    expect(await auditBehind(async () => undefined)).toEqual(['redis knows version 1, the ledger 2'])
  }, 60_000)
})
