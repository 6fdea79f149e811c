import { beforeAll, describe, expect, test } from 'vitest'
import { auditLedger } from '../../../src/billing/audit/ledger-audit.ts'
import { createSettlementStore } from '../../../src/billing/settlement/settlement-store.ts'
import type { SettlementRecord } from '../../../src/core/calls/call-job.ts'
import { openTestAccount, settlementOf } from '../../helpers/billing.ts'
import { testLedger } from '../../helpers/resources.ts'

const CHECK = 'every call has the rates that were published as the version it names'

describe('the audit of rates', () => {
  let account: string
  const ledger = testLedger()
  beforeAll(async () => {
    account = await openTestAccount(ledger.postgres, 1_000_000n)
    await ledger.postgres.rateVersion.create({
      data: {
        modelId: 'acme/large-1',
        rateVersion: 'v1',
        prompt: 1n,
        completion: 2n,
        listPrompt: 2n,
        listCompletion: 4n,
        cacheRead: 1n,
        cacheWrite: 3n,
        source: 'test',
      },
    })
  })

  const settle = async (served: Partial<NonNullable<SettlementRecord['served']>>, chargePico = '50') => {
    const record = settlementOf(account)
    const changed = { ...record, served: { ...record.served!, ...served }, chargePico }
    const { quarantined } = await createSettlementStore(ledger.postgres).settle([changed])
    expect(quarantined).toEqual([])
    return record.id
  }
  const found = async () => {
    const { checks } = await auditLedger(ledger.postgres)
    const { discrepancies } = checks.find(({ name }) => name === CHECK)!
    return discrepancies.map(({ subject }) => subject)
  }

  test('takes the published rates, and the routing fee of them', async () => {
    await settle({})
    await settle({ rate: { prompt: '1', completion: '2', cacheRead: '1', cacheWrite: '3' } })
    await settle(
      { rateVersion: 'v1-byok-50', rate: { prompt: '0', completion: '1' }, providerKeyId: 'pkey_1' },
      '20',
    )
    expect(await found()).toEqual([])
  })

  test('finds a call that is charged at another rate than its version, whatever its charge adds up to', async () => {
    const wrong = [
      await settle({ rate: { prompt: '2', completion: '2' } }, '60'),
      await settle({ rate: { prompt: '1', completion: '2', cacheRead: '9' } }),
      await settle({
        rateVersion: 'v1-byok-50',
        rate: { prompt: '1', completion: '2' },
        providerKeyId: 'pkey_1',
      }),
    ]
    expect((await found()).toSorted()).toEqual(wrong.toSorted())
    for (const callId of wrong) await ledger.postgres.callReview.create({ data: { callId, note: 'decided' } })
    expect(await found()).toEqual([])
  })

  test('the audit finds a call at a rate that is still unpublished after an hour', async () => {
    const callId = await settle({ rateVersion: 'v2' })
    expect(await found()).toEqual([])
    await ledger.postgres.callRecord.update({
      where: { id: callId },
      data: { settledAtMs: Date.now() - 3_700_000 },
    })
    expect(await found()).toEqual([callId])
  })
})
