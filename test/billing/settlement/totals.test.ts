import { readFileSync } from 'node:fs'
import { Client } from 'pg'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { auditLedger } from '../../../src/billing/audit/ledger-audit.ts'
import { TOTALS_AUDIT_CHECKS } from '../../../src/billing/audit/totals-audit-checks.ts'
import { postLedger } from '../../../src/billing/ledger/ledger-store.ts'
import {
  createSettlementStore,
  type SettlementStore,
} from '../../../src/billing/settlement/settlement-store.ts'
import { adjustmentPosting } from '../../../src/core/billing/postings.ts'
import type { SettlementRecord } from '../../../src/core/calls/call-job.ts'
import { newCallId } from '../../../src/core/kernel/ids.ts'
import { picoUsd } from '../../../src/core/kernel/money.ts'
import {
  failedSettlementOf,
  openTestAccount,
  settlementOf,
  unservedSettlementOf,
} from '../../helpers/billing.ts'
import { testLedger } from '../../helpers/resources.ts'
import { expectLatenciesOfHistory, expectTotalsOfHistory } from '../../helpers/totals.ts'

const MIGRATIONS = [
  '20261125100000_spend_totals',
  '20261128202000_cache_totals',
  '20261128204000_usage_latencies',
  '20261129033100_usage_hours',
].map((name) => readFileSync(`prisma/migrations/${name}/migration.sql`, 'utf8'))
const DAY_MS = 86_400_000
const NOON = Date.parse('2026-11-25T12:00:00Z')

describe('totals of spend, usage and the ledger', () => {
  let store: SettlementStore
  let account: string
  const ledger = testLedger()
  beforeAll(async () => {
    store = createSettlementStore(ledger.postgres)
    account = await openTestAccount(ledger.postgres, 1_000_000n)
  })
  afterEach(() => expectTotalsOfHistory(ledger.postgres))

  const at = (admittedAt: number, changes: Partial<SettlementRecord> = {}) => ({
    ...{ id: newCallId(admittedAt), admittedAt, claimedAt: admittedAt, firstTokenAt: admittedAt + 120 },
    ...{ finishedAt: admittedAt + 4_000, ...changes },
  })
  const broken = { promptTokens: 700, completionTokens: 3, costPico: '703' }
  const attempts: SettlementRecord['attempts'] = [
    {
      offerId: 'other/large-1',
      outcome: 'server-error',
      httpStatus: 500,
      startedAt: 1_000,
      firstTokenMs: 5,
      durationMs: 9,
      spent: broken,
    },
  ]
  const spentIn = async (keyId: string, period: string) => {
    const total = await ledger.postgres.spendTotal.findUnique({
      where: { accountId_keyId_period: { accountId: account, keyId, period } },
    })
    return total === null ? null : Number(total.spentPico)
  }

  test('have each call once, in the periods of its admission, of its key and its account', async () => {
    const calls = [
      settlementOf(account, at(NOON, { keyId: 'key_a' })),
      settlementOf(account, at(NOON + 1, { keyId: 'key_b' })),
      settlementOf(account, at(NOON + DAY_MS / 2 - 1, { keyId: 'key_a' })),
      settlementOf(account, at(NOON + DAY_MS / 2, { keyId: 'key_a', attempts })),
      failedSettlementOf(account, at(NOON + DAY_MS, { keyId: 'key_b', attempts, firstTokenAt: null })),
      settlementOf(account, at(NOON, { keyId: '' })),
    ]
    await store.settle(calls)
    await store.settle(calls)
    await Promise.all(calls.map((call) => store.settle([call, ...calls])))
    expect(await spentIn('key_a', 'd2026-11-25')).toBe(100)
    expect(await spentIn('key_a', 'd2026-11-26')).toBe(50)
    expect(await spentIn('key_a', 'total')).toBe(150)
    expect(await spentIn('', 'd2026-11-25')).toBe(200)
    expect(await spentIn('', 'total')).toBe(250)
    await expectLatenciesOfHistory(ledger.postgres)
  })

  test('have each call once for each of its groups too, and not for other labels of its client', async () => {
    const groups = ['project:Search', 'tag:team=a,b:c', 'user:42']
    const labels = { groups, metadata: { groups: 'user:7' } }
    const calls = [
      settlementOf(account, at(NOON, { keyId: 'key_g', labels })),
      settlementOf(account, at(NOON + DAY_MS, { keyId: 'key_h', labels: { groups: ['user:42'] } })),
      settlementOf(account, at(NOON, { keyId: 'key_g', labels: { title: 'app' } })),
    ]
    await store.settle(calls)
    await store.settle(calls)
    expect(await spentIn('user:42', 'total')).toBe(100)
    expect(await spentIn('user:42', 'd2026-11-25')).toBe(50)
    expect(await spentIn('project:Search', 'total')).toBe(50)
    expect(await spentIn('tag:team=a,b:c', 'total')).toBe(50)
    expect(await spentIn('user:7', 'total')).toBeNull()
  })

  test('change by the difference when a record replaces another, in either order and repeated', async () => {
    const served = settlementOf(account, at(NOON, { keyId: 'key_c' }))
    const unserved = unservedSettlementOf(account, {
      ...at(NOON, { keyId: 'key_c', attempts }),
      id: served.id,
    })
    await store.settle([unserved])
    expect(await spentIn('key_c', 'total')).toBe(0)
    await expectTotalsOfHistory(ledger.postgres)
    for (let repeated = 0; repeated < 2; repeated++) {
      const { superseded } = await store.settle([served])
      expect(superseded).toHaveLength(repeated === 0 ? 1 : 0)
      await store.settle([unserved])
    }
    const total = await ledger.postgres.spendTotal.findFirst({ where: { keyId: 'key_c', period: 'total' } })
    expect(total).toMatchObject({ chargedCalls: 1n, lastCallAtMs: BigInt(NOON) })
    expect(await spentIn('key_c', 'total')).toBe(50)
    const other = settlementOf(account, at(NOON, { keyId: 'key_c' }))
    await store.settle([unservedSettlementOf(account, { id: other.id, keyId: 'key_c' }), other])
    await expectLatenciesOfHistory(ledger.postgres)
  })

  test('have nothing of a record that the database rejects, and all of its batch', async () => {
    const good = [1, 2, 3].map(() => settlementOf(account, at(NOON, { keyId: 'key_d' })))
    const poisoned = settlementOf(account, at(NOON, { keyId: 'key_d', chargePico: '101' }))
    const stranger = settlementOf('acct_unknown', at(NOON, { keyId: 'key_d' }))
    const { quarantined } = await store.settle([good[0]!, poisoned, good[1]!, stranger, good[2]!])
    expect(quarantined).toHaveLength(2)
    expect(await spentIn('key_d', 'total')).toBe(150)
  })

  test('have a duplicate of an Idempotency-Key without a charge', async () => {
    const idempotencyDigest = 'digest'
    await store.settle([settlementOf(account, at(NOON, { keyId: 'key_e', idempotencyDigest }))])
    await store.settle([settlementOf(account, at(NOON + 1, { keyId: 'key_e', idempotencyDigest }))])
    expect(await spentIn('key_e', 'total')).toBe(50)
  })

  test('do not change when labels of calls are deleted', async () => {
    await ledger.postgres.$executeRawUnsafe(`UPDATE call_records SET labels = '{"title": "app"}'`)
    await ledger.postgres.$executeRawUnsafe('UPDATE call_records SET labels = NULL')
  })

  test('have every posting', async () => {
    const posting = adjustmentPosting('event', account, picoUsd(7n))
    await ledger.postgres.$transaction((transaction) => postLedger(transaction, posting))
    await ledger.postgres.$transaction((transaction) => postLedger(transaction, posting))
  })

  test('are right after settlers shared accounts and keys in opposite orders', async () => {
    const others = await Promise.all([1, 2, 3, 4].map(() => openTestAccount(ledger.postgres, 1_000_000n)))
    const batches = Array.from({ length: 12 }, (_, batch) =>
      Array.from({ length: 40 }, (_, index) =>
        settlementOf(others[index % others.length]!, at(NOON, { keyId: `key_${index % 7}` })),
      ).sort(() => (batch % 2 === 0 ? 1 : -1)),
    )
    const outcomes = await Promise.all(batches.map((batch) => store.settle(batch)))
    expect(outcomes.flatMap(({ quarantined }) => quarantined)).toEqual([])
  })

  test('are proven by the audit', async () => {
    const call = settlementOf(account, at(NOON, { keyId: 'key_f', labels: { groups: ['user:1'] } }))
    await store.settle([call])
    const failing = async () => {
      const { checks } = await auditLedger(ledger.postgres, { reach: 'full' })
      return TOTALS_AUDIT_CHECKS.map(({ name }) => name).filter((name) =>
        checks.some((check) => check.name === name && check.broken > 0),
      )
    }
    expect(await failing()).toEqual([])
    const [quarters, days, totals, entries, groups] = TOTALS_AUDIT_CHECKS.map(({ name }) => name)
    for (const [table, where, column, found] of [
      ['usage_totals', "key_id = 'key_f' AND width_ms = 900000", 'charge_pico', [quarters, days]],
      ['usage_totals', "key_id = 'key_f' AND width_ms = 900000", 'completion_tokens', [quarters]],
      ['usage_totals', "key_id = 'key_f' AND width_ms = 3600000", 'charge_pico', [days]],
      ['usage_totals', "key_id = 'key_f' AND width_ms = 86400000", 'charge_pico', [days]],
      ['spend_totals', "key_id = 'key_f' AND period <> 'total'", 'spent_pico', [days, totals]],
      ['spend_totals', "key_id = '' AND period = 'total'", 'spent_pico', [totals]],
      ['spend_totals', "key_id = 'user:1' AND period <> 'total'", 'spent_pico', [totals, groups]],
      [
        'ledger_totals',
        `ledger_account = 'customer:${account}' AND kind = 'capture'`,
        'amount_pico',
        [entries],
      ],
    ] as const) {
      const change = (by: number) =>
        ledger.postgres.$executeRawUnsafe(
          `UPDATE ${table} SET ${column} = ${column} + ${by} WHERE account_id = '${account}' AND ${where}`,
        )
      expect(await change(1)).toBe(1)
      expect(await failing()).toEqual(found)
      await change(-1)
      expect(await failing()).toEqual([])
    }
    // The first migration counts no groups.
    await ledger.postgres.$executeRawUnsafe('UPDATE call_records SET labels = NULL')
  })

  test('are filled from the history of a database without them', async () => {
    const { postgres } = ledger
    for (const name of ['call_records_add_totals', 'call_records_change_totals', 'ledger_entries_add_totals'])
      await postgres.$executeRawUnsafe(`DROP FUNCTION ${name}() CASCADE`)
    await postgres.$executeRawUnsafe('DROP TABLE spend_totals, usage_totals, ledger_totals')
    await store.settle([settlementOf(account, at(NOON, { keyId: 'key_a', attempts }))])
    const client = new Client({ connectionString: ledger.url })
    await client.connect()
    for (const sql of MIGRATIONS) await client.query(sql)
    await client.end()
    await expectTotalsOfHistory(postgres)
    await store.settle([settlementOf(account, at(NOON, { keyId: 'key_a' }))])
  })
  test("have what providers' caches saved on prompts that are long enough for one", async () => {
    const { served } = settlementOf(account)
    const cost = { prompt: '10', completion: '1', cacheRead: '1', cacheWrite: '12' }
    const cached = { promptTokens: 2_000, completionTokens: 20, cachedTokens: 1_500, cacheWriteTokens: 100 }
    const changes = {
      keyId: 'key_cached',
      served: { ...served!, cost },
      chargePico: '2040',
      holdPico: '3000',
    }
    await store.settle([
      settlementOf(account, at(NOON, { ...changes, usage: cached })),
      settlementOf(
        account,
        at(NOON, { ...changes, usage: { ...cached, cachedTokens: 0, cacheWriteTokens: 0 } }),
      ),
      settlementOf(account, at(NOON, { keyId: 'key_cached' })),
    ])
    const total = await ledger.postgres.usageTotal.findFirst({
      where: { accountId: account, keyId: 'key_cached', widthMs: BigInt(DAY_MS) },
    })
    expect(total).toMatchObject({ calls: 3n, cacheableTokens: 4_000n, cachedTokens: 1_500n })
    expect(Number(total?.uncachedPromptPico)).toBe(40_000)
    expect(Number(total?.cacheSavedPico)).toBe(1_500 * 9 - 100 * 2)
  })
})
