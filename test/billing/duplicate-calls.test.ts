import { beforeAll, describe, expect, test } from 'vitest'
import { auditLedger } from '../../src/billing/audit/ledger-audit.ts'
import { findSettledKey, pruneSettledKeys } from '../../src/billing/settlement/settlement-statements.ts'
import { createSettlementStore, type SettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import { createPostgres } from '../../src/platform/postgres/postgres.ts'
import { openTestAccount, settlementOf } from '../helpers/billing.ts'
import { testLedger } from '../helpers/resources.ts'

const DAY_MS = 86_400_000

describe('calls with one Idempotency-Key', () => {
  let store: SettlementStore
  const ledger = testLedger()
  beforeAll(() => {
    store = createSettlementStore(ledger.postgres)
  })

  const balanceOf = async (id: string) =>
    (await ledger.postgres.account.findUniqueOrThrow({ where: { id } })).balancePico
  const recordOf = (id: string) => ledger.postgres.callRecord.findUniqueOrThrow({ where: { id } })
  const expectGreenAudit = async () => {
    const { checks } = await auditLedger(ledger.postgres)
    expect(checks.filter(({ broken }) => broken > 0)).toEqual([])
  }

  test('are charged once: the second is recorded as a duplicate, and its hold is released', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const [first, second] = [1, 2].map(() => settlementOf(account, { idempotencyDigest: 'k' }))
    await store.settle([first!])
    const { accounts, quarantined } = await store.settle([second!])
    expect(quarantined).toEqual([])
    expect(accounts).toEqual([
      {
        accountId: account,
        balancePico: 950n,
        version: 2n,
        released: [{ callId: second!.id, chargePico: 0n }],
      },
    ])
    expect(await recordOf(second!.id)).toMatchObject({
      status: 'completed',
      chargePico: 0n,
      duplicateOf: first!.id,
      completionTokens: 20,
    })
    expect(await ledger.postgres.ledgerEntry.count({ where: { transactionId: second!.id } })).toBe(0)
    await expectGreenAudit()
  })

  test('are charged once when one batch settles them, and when that runs again', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const calls = [3, 1, 2].map((admittedAt) => settlementOf(account, { idempotencyDigest: 'k', admittedAt }))
    for (const round of [1, 2]) {
      const { accounts } = await store.settle(calls)
      expect(await balanceOf(account), `round ${round}`).toBe(950n)
      expect(accounts[0]?.released.map(({ chargePico }) => chargePico)).toEqual([0n, 50n, 0n])
    }
    const records = await Promise.all(calls.map(({ id }) => recordOf(id)))
    expect(records.map(({ duplicateOf }) => duplicateOf)).toEqual([calls[1]!.id, null, calls[1]!.id])
    expect(await ledger.postgres.settlementConflict.count()).toBe(0)
    await expectGreenAudit()
  })

  test('are charged once when two processes settle them at the same time', async () => {
    const other = createPostgres({ databaseUrl: ledger.url, name: 'test-other' })
    try {
      const stores = [store, createSettlementStore(other)]
      for (let round = 0; round < 20; round++) {
        const account = await openTestAccount(ledger.postgres, 1_000n)
        const calls = stores.map(() => settlementOf(account, { idempotencyDigest: 'k' }))
        await Promise.all(stores.map((one, index) => one.settle([calls[index]!])))
        expect(await balanceOf(account)).toBe(950n)
        const records = await Promise.all(calls.map(({ id }) => recordOf(id)))
        expect(records.map(({ duplicateOf }) => duplicateOf).filter(Boolean)).toHaveLength(1)
      }
    } finally {
      await other.$disconnect()
    }
    await expectGreenAudit()
  })

  test('of other accounts, of other keys, and a day apart are calls of their own', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const another = await openTestAccount(ledger.postgres, 1_000n)
    const admittedAt = 10 * DAY_MS
    await store.settle([
      settlementOf(account, { idempotencyDigest: 'k', admittedAt }),
      settlementOf(account, { idempotencyDigest: 'other', admittedAt }),
      settlementOf(another, { idempotencyDigest: 'k', admittedAt }),
    ])
    await store.settle([settlementOf(account, { idempotencyDigest: 'k', admittedAt: admittedAt + DAY_MS })])
    await store.settle([settlementOf(account, { idempotencyDigest: 'k', admittedAt: admittedAt - DAY_MS })])
    expect(await balanceOf(account)).toBe(800n)
    expect(await balanceOf(another)).toBe(950n)
    const last = settlementOf(account, { idempotencyDigest: 'k', admittedAt: admittedAt + DAY_MS + 1 })
    await store.settle([last])
    expect(await balanceOf(account)).toBe(800n)
    await expectGreenAudit()
  })

  test('the call of an Idempotency-Key is found for a day and pruned after two', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const call = (digest: string, ageMs: number) =>
      settlementOf(account, { idempotencyDigest: digest, admittedAt: Date.now() - ageMs })
    const [fresh, stale, old] = [call('fresh', 1_000), call('stale', 1.5 * DAY_MS), call('old', 3 * DAY_MS)]
    await store.settle([fresh, stale, old])
    const find = (digest: string) => findSettledKey(ledger.postgres, account, digest)
    expect(await Promise.all(['fresh', 'stale', 'old', 'unknown'].map(find))).toEqual([
      fresh.id,
      null,
      null,
      null,
    ])
    await pruneSettledKeys(ledger.postgres)
    const left = await ledger.postgres.idempotencyKey.findMany({ where: { accountId: account } })
    expect(left.map(({ keyDigest }) => keyDigest).toSorted()).toEqual(['fresh', 'stale'])
  })

  test('keys are pruned until none is due, however many there are', async () => {
    await ledger.postgres.$executeRaw`
      INSERT INTO idempotency_keys (account_id, key_digest, call_id, admitted_at_ms)
      SELECT 'acct_busy', 'key ' || number, 'call ' || number, 1000 FROM generate_series(1, 20001) AS number`
    await pruneSettledKeys(ledger.postgres)
    expect(await ledger.postgres.idempotencyKey.count({ where: { accountId: 'acct_busy' } })).toBe(0)
  })

  test('an uncharged duplicate without the call it refers to is a discrepancy', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const lost = settlementOf(account, { idempotencyDigest: 'lost' })
    await store.settle([lost])
    const duplicate = settlementOf(account, { idempotencyDigest: 'lost' })
    await store.settle([duplicate])
    await ledger.postgres.callRecord.update({
      where: { id: duplicate.id },
      data: { duplicateOf: 'chatcmpl_nobody' },
    })
    const { checks } = await auditLedger(ledger.postgres)
    const broken = checks.filter((check) => check.broken > 0)
    expect(broken).toMatchObject([
      {
        broken: 1,
        discrepancies: [{ subject: duplicate.id, detail: expect.stringContaining('does not exist') }],
      },
    ])
  })
})
