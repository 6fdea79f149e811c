import { expect, test } from 'vitest'
import { auditFailureCredits } from '../../../src/billing/audit/failure-credit-audit.ts'
import { createSettlementStore } from '../../../src/billing/settlement/settlement-store.ts'
import { DAY_MS } from '../../../src/core/kernel/time.ts'
import { openTestAccount, settlementOf, unservedSettlementOf } from '../../helpers/billing.ts'
import { testLedger } from '../../helpers/resources.ts'

const CALL = '50'
const ledger = testLedger()

/** Settles calls of one account, of which callers of the first were told a failure. */
async function settled(calls: number, told: number): Promise<string> {
  const account = await openTestAccount(ledger.postgres, 1_000_000n)
  const store = createSettlementStore(ledger.postgres)
  const admittedAt = Date.now()
  const served = Array.from({ length: calls }, () => settlementOf(account, { admittedAt, chargePico: CALL }))
  await store.settle(served)
  await store.settle(served.slice(0, told).map(({ id }) => unservedSettlementOf(account, { id, admittedAt })))
  return account
}

const audited = async (percent: number, floorPico: bigint, nowMs = Date.now()) => {
  const { check, credits } = await auditFailureCredits(ledger.postgres, { percent, floorPico }, nowMs)
  return { subjects: check.discrepancies.map(({ subject }) => subject), broken: check.broken, credits }
}

test('the audit lists credits for reported failures by day and account, and fails above the allowed share', async () => {
  expect(await audited(0, 0n)).toEqual({ subjects: [], broken: 0, credits: [] })
  const [some, most] = [await settled(100, 2), await settled(10, 8)]
  const day = new Date().toISOString().slice(0, 10)
  const { credits } = await audited(100, 0n)
  expect(credits.map(({ day, accountId, calls }) => ({ day, accountId, calls }))).toEqual([
    { day, accountId: most, calls: 8 },
    { day, accountId: some, calls: 2 },
  ])
  // 500 of 5,500 for all of them.
  expect((await audited(10, 0n)).subjects).toEqual([most])
  expect((await audited(8, 0n)).subjects).toEqual(['all accounts', most])
  expect((await audited(1, 0n)).subjects).toEqual(['all accounts', most, some])
  expect((await audited(1, 399n)).subjects).toEqual(['all accounts', most])
  expect((await audited(1, 500n)).broken).toBe(0)
})

test('what was credited the day before yesterday is listed and fails no audit', async () => {
  const later = await audited(0, 0n, Date.now() + 2 * DAY_MS)
  expect(later.broken).toBe(0)
  expect(later.credits.length).toBeGreaterThan(0)
  expect((await audited(0, 0n, Date.now() + 8 * DAY_MS)).credits).toEqual([])
})
