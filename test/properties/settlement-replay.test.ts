import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { auditLedger } from '../../src/billing/audit/ledger-audit.ts'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import type { SettlementRecord } from '../../src/core/calls/call-job.ts'
import { failedSettlementOf, openTestAccount, settlementOf } from '../helpers/billing.ts'
import { testLedger } from '../helpers/resources.ts'
import { expectTotalsOfHistory } from '../helpers/totals.ts'

const CALLS = 8
const OPENING_PICO = 1_000_000n

describe('settlement replays', () => {
  const ledger = testLedger()

  /** Which calls are charged, and in what batches (indices into the calls) they are settled. */
  const history = fc.record({
    charges: fc.array(fc.nat({ max: 5_000 }), { minLength: CALLS, maxLength: CALLS }),
    batches: fc.array(fc.array(fc.nat({ max: CALLS - 1 }), { minLength: 1, maxLength: 12 }), {
      maxLength: 10,
    }),
  })

  test('any batches, in any order, any number of times, charge each call once', async () => {
    const store = createSettlementStore(ledger.postgres)
    await fc.assert(
      fc.asyncProperty(history, async ({ charges, batches }) => {
        const accounts = [
          await openTestAccount(ledger.postgres, OPENING_PICO),
          await openTestAccount(ledger.postgres, OPENING_PICO),
        ]
        const calls = charges.map((charge, index) => chargedCall(accounts[index % 2] as string, charge))
        for (const batch of batches)
          await store.settle(batch.map((index) => calls[index] as SettlementRecord))
        // Whatever was missed is settled in the end, twice.
        await Promise.all([store.settle(calls), store.settle([...calls].reverse())])

        for (const [parity, id] of accounts.entries()) {
          const spent = charges
            .filter((_, index) => index % 2 === parity)
            .reduce((sum, charge) => sum + charge, 0)
          const { balancePico } = await ledger.postgres.account.findUniqueOrThrow({ where: { id } })
          expect(balancePico).toBe(OPENING_PICO - BigInt(spent))
        }
        const ids = calls.map((call) => call.id)
        expect(await ledger.postgres.callRecord.count({ where: { id: { in: ids } } })).toBe(CALLS)
      }),
      { numRuns: 40 },
    )
    const { checks } = await auditLedger(ledger.postgres)
    expect(checks.filter((check) => check.broken > 0)).toEqual([])
    await expectTotalsOfHistory(ledger.postgres)
  })

  test('versions only grow, and a version always means the same balance', async () => {
    const store = createSettlementStore(ledger.postgres)
    await fc.assert(
      fc.asyncProperty(history, async ({ charges, batches }) => {
        const account = await openTestAccount(ledger.postgres, OPENING_PICO)
        const calls = charges.map((charge) => chargedCall(account, charge))
        const balanceAt = new Map<bigint, bigint>()
        let newest = 0n
        for (const batch of batches) {
          const { accounts } = await store.settle(batch.map((index) => calls[index] as SettlementRecord))
          for (const { version, balancePico } of accounts) {
            expect(version).toBeGreaterThanOrEqual(newest)
            expect(balanceAt.get(version) ?? balancePico).toBe(balancePico)
            balanceAt.set(version, balancePico)
            newest = version
          }
        }
      }),
      { numRuns: 30 },
    )
  })
})

/** A call that costs so much: that many prompt tokens at 1 pico-USD. */
const chargedCall = (accountId: string, charge: number): SettlementRecord =>
  charge === 0
    ? failedSettlementOf(accountId)
    : settlementOf(accountId, {
        usage: { promptTokens: charge, completionTokens: 0 },
        chargePico: String(charge),
        holdPico: String(charge * 2),
      })
