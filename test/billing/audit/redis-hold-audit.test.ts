import { expect, test } from 'vitest'
import { auditLedger } from '../../../src/billing/audit/ledger-audit.ts'
import { createSettlementStore } from '../../../src/billing/settlement/settlement-store.ts'
import { openTestAccount, openTestLedger, settlementOf } from '../../helpers/billing.ts'

test('the audit finds a call that Redis held less for than its record says', async () => {
  const ledger = await openTestLedger()
  const account = await openTestAccount(ledger.postgres, 1_000n)
  const wrong = settlementOf(account, { redisHoldPico: '60' })
  await createSettlementStore(ledger.postgres).settle([settlementOf(account), wrong])
  const { checks } = await auditLedger(ledger.postgres)
  expect(checks.flatMap(({ discrepancies }) => discrepancies)).toEqual([
    {
      check: 'the hold of every call in Redis equals its record',
      subject: wrong.id,
      detail: 'Redis held 60, the record says 100',
    },
  ])
  await ledger.close()
})
