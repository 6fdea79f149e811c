import { describe, expect, test } from 'vitest'
import { postLedger } from '../../../src/billing/ledger/ledger-store.ts'
import { createSettlementStore } from '../../../src/billing/settlement/settlement-store.ts'
import { adjustmentPosting, capturePosting, creditPosting } from '../../../src/core/billing/postings.ts'
import { picoUsd } from '../../../src/core/kernel/money.ts'
import { openTestAccount, settlementOf } from '../../helpers/billing.ts'
import { testLedger } from '../../helpers/resources.ts'

describe('postLedger', () => {
  const ledger = testLedger()

  test('moves balance and version together', async () => {
    const account = await openTestAccount(ledger.postgres, 100n)
    const credited = await postLedger(ledger.postgres, creditPosting('evt_a', account, picoUsd(7n)))
    expect(credited).toEqual({ balancePico: 107n, version: 2n, posted: true })
  })

  test('postLedger posts a repeated event once', async () => {
    const account = await openTestAccount(ledger.postgres, 100n)
    const posting = creditPosting('evt_b', account, picoUsd(7n))
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => postLedger(ledger.postgres, posting)))
    expect(outcomes.filter((outcome) => outcome.posted)).toHaveLength(1)
    expect(await postLedger(ledger.postgres, posting)).toEqual({
      balancePico: 107n,
      version: 2n,
      posted: false,
    })
  })

  test('postings at the same time all count, each with a version of its own', async () => {
    const account = await openTestAccount(ledger.postgres, 100n)
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        postLedger(ledger.postgres, creditPosting(`evt_c${index}`, account, picoUsd(1n))),
      ),
    )
    expect(new Set(outcomes.map((outcome) => outcome.version)).size).toBe(20)
    expect(
      outcomes
        .map((outcome) => outcome.balancePico)
        .sort()
        .at(-1),
    ).toBe(120n)
  })

  test('a charge beyond the balance is refused and leaves nothing behind', async () => {
    const account = await openTestAccount(ledger.postgres, 100n)
    await expect(
      postLedger(ledger.postgres, capturePosting('chatcmpl_x', account, picoUsd(101n))),
    ).rejects.toThrow('accounts_balance_not_negative')
    expect(await ledger.postgres.ledgerTransaction.count({ where: { id: 'chatcmpl_x' } })).toBe(0)
  })

  test('an adjustment below the price of the cheapest call exhausts an account, as a call does', async () => {
    const account = await openTestAccount(ledger.postgres, 100n)
    const stateAfter = async (id: string, amountPico: bigint) => {
      await postLedger(ledger.postgres, adjustmentPosting(id, account, picoUsd(amountPico)))
      return (await ledger.postgres.account.findUniqueOrThrow({ where: { id: account } })).state
    }
    await createSettlementStore(ledger.postgres).settle([settlementOf(account, { leastCallPico: '26' })])
    expect(await stateAfter('evt_to_26', -24n)).toBe('active')
    expect(await stateAfter('evt_to_1', -25n)).toBe('exhausted')
    expect(await stateAfter('evt_to_25', 24n)).toBe('exhausted')
    expect(await stateAfter('evt_back_to_26', 1n)).toBe('active')
  })

  test('an unknown account is refused', async () => {
    await expect(
      postLedger(ledger.postgres, creditPosting('evt_d', 'acct_nobody', picoUsd(1n))),
    ).rejects.toThrow('acct_nobody does not exist')
  })
})
