import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { eraseDeletedAccounts, hasErasures } from '../../../src/accounts/self-service/account-erasure.ts'
import { createHoldStore } from '../../../src/billing/holds/hold-store.ts'
import { createSettlementStore } from '../../../src/billing/settlement/settlement-store.ts'
import { DAY_MS } from '../../../src/core/kernel/time.ts'
import type { KeyChange } from '../../../src/platform/redis/key-changes.ts'
import { openTestAccount, settlementOf } from '../../helpers/billing.ts'
import { fillHistory } from '../../helpers/long-history.ts'
import { testLedger, testRedis } from '../../helpers/resources.ts'

const CALLS = 5_000
const LABELS = { title: 'my own app' }

const ledger = testLedger()
const server = testRedis()

/** An account that was deleted after some thousand calls with labels. */
async function deletedAccount(): Promise<string> {
  const { postgres, url } = ledger
  const accountId = await openTestAccount(postgres, 10n ** 12n)
  const now = Date.now()
  await fillHistory(url, {
    ...{ calls: CALLS, busyAccountId: accountId, otherAccountIds: [accountId, accountId], keys: 1 },
    ...{ fromMs: now - DAY_MS, toMs: now },
  })
  await postgres.callRecord.updateMany({ data: { labels: LABELS } })
  await postgres.account.update({
    where: { id: accountId },
    data: { state: 'suspended', deletedAt: new Date() },
  })
  await postgres.accountErasure.create({ data: { accountId } })
  return accountId
}

const labelled = (accountId: string) =>
  ledger.postgres.callRecord.count({ where: { accountId, labels: { not: {} } } })

describe('what the calls of a deleted account left', () => {
  test('the erasure of a deleted account resumes after an interruption, and later settlements add nothing', async () => {
    const { postgres } = ledger
    const accountId = await deletedAccount()
    const announced: KeyChange[] = []
    const run = (announce: (change: KeyChange) => Promise<void>, steps: number) => {
      let left = steps
      const stopping = {
        get aborted() {
          return left-- <= 0
        },
      } as AbortSignal
      const logger = pino({ level: 'silent' })
      const holds = createHoldStore(server.connect())
      return eraseDeletedAccounts({ postgres, holds, announce, logger }, stopping)
    }
    const announce = async (change: KeyChange) => void announced.push(change)

    await expect(run(() => Promise.reject(new Error('Redis is away')), 9)).rejects.toThrow('Redis is away')
    expect(await labelled(accountId)).toBe(CALLS)

    await run(announce, 2)
    expect(announced).toEqual([{ accountId }])
    expect(await labelled(accountId)).toBe(CALLS - 4_000)

    // A call from before the position that was reached.
    const late = settlementOf(accountId, { admittedAt: 1, labels: LABELS })
    await createSettlementStore(postgres).settle([late])
    expect(await postgres.callRecord.findUnique({ where: { id: late.id } })).toMatchObject({ labels: null })

    await run(announce, 9)
    expect(await labelled(accountId)).toBe(0)
    expect(await hasErasures(postgres)).toBe(false)
  })
})
