import { Client } from 'pg'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAnalyticsTables } from '../../src/billing/analytics/analytics-tables.ts'
import { createAnalyticsUsage } from '../../src/billing/analytics/analytics-usage.ts'
import { exportCalls } from '../../src/billing/analytics/export-calls.ts'
import { createUsageSeriesStore, type UsageCell } from '../../src/billing/reports/usage-series-store.ts'
import { createUsageStore } from '../../src/billing/reports/usage-store.ts'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import { bucketStarts } from '../../src/core/billing/time-buckets.ts'
import { newCallId } from '../../src/core/kernel/ids.ts'
import { type ClickHouse, createClickHouse } from '../../src/platform/clickhouse.ts'
import {
  failedSettlementOf,
  openTestAccount,
  settlementOf,
  unservedSettlementOf,
} from '../helpers/billing.ts'
import { startClickHouse } from '../helpers/clickhouse.ts'
import { filled, testLedger } from '../helpers/resources.ts'

const RANGE = { fromMs: Date.parse('2027-03-27T23:00:00Z'), toMs: Date.parse('2027-04-02T22:00:00Z') }
const NAMES = ['gpt-5', 'openai/gpt-5', 'gpt-5:nitro', 'acme/large', 'auto:floor']
const NEVER = new AbortController().signal
const INSTALL_MS = 900_000

const ledger = testLedger()
const server = filled(startClickHouse, (running) => running.close(), INSTALL_MS)
let clickHouse: ClickHouse
let accountId: string

beforeAll(async () => {
  clickHouse = createClickHouse(server.url)
  accountId = await openTestAccount(ledger.postgres, 1_000_000_000n)
  const keys = ['key_a', 'key_b'].map((id, index) => ({
    ...{ id, accountId, kind: 'standard' as const, name: `named ${id}` },
    ...{ hash: Buffer.from(id), prefix: 'sk', suffix: id, createdBy: index === 0 ? accountId : null },
  }))
  await ledger.postgres.apiKey.createMany({ data: keys })
  const calls = Array.from({ length: 200 }, (_, index) => {
    const admittedAt = RANGE.fromMs - 86_400_000 + index * 3_600_000
    const changes = {
      ...{ id: newCallId(admittedAt), admittedAt, claimedAt: admittedAt, holdPico: '1000000' },
      requestedModel: NAMES[index % NAMES.length]!,
      keyId: index % 3 === 0 ? 'key_a' : 'key_b',
      firstTokenAt: admittedAt + 100 + ((index * 37) % 500),
      finishedAt: admittedAt + 1_000 + ((index * 53) % 900),
    }
    if (index % 7 === 0) return failedSettlementOf(accountId, { ...changes, firstTokenAt: null })
    const usage = { promptTokens: index, completionTokens: index * 2 }
    return settlementOf(accountId, { ...changes, usage, chargePico: String(index * 5) })
  })
  await createSettlementStore(ledger.postgres).settle(calls)
  await copy()
})

const LATENCIES = ['firstTokenMs', 'firstTokenP95Ms', 'durationMs'] as const
/** So many calls have a call near each quantile. */
const MANY = 25n
const withoutLatencies = ({ firstTokenMs, firstTokenP95Ms, durationMs, ...cell }: UsageCell) => cell

const copy = (to: ClickHouse = clickHouse) =>
  exportCalls({ postgres: ledger.postgres, clickHouse: to, clock: Date.now }, NEVER)
const copied = () => createAnalyticsUsage(clickHouse, ledger.postgres)
const originals = () => ({ ...createUsageStore(ledger.postgres), ...createUsageSeriesStore(ledger.postgres) })
const everything = { fromMs: 0, toMs: 4_000_000_000_000 }

/** Of both: how many calls the account has, and what they were charged. */
async function totals() {
  const [first, second] = await Promise.all(
    [copied(), originals()].map(
      async ({ usage }) => (await usage(accountId, everything, 'model', 1_000))!.total,
    ),
  )
  return [first!, second!] as const
}

describe('usage from ClickHouse is that from PostgreSQL', () => {
  test.each(['day', 'model', 'key'] as const)('by %s', async (group) => {
    const [ours, theirs] = await Promise.all(
      [copied(), originals()].map(({ usage }) => usage(accountId, RANGE, group, 1_000)),
    )
    expect(theirs!.rows.length).toBeGreaterThan(1)
    expect(ours).toEqual(theirs)
  })

  test.each([
    ['model', { top: null }],
    ['key', { top: null }],
    ['member', { top: null }],
    ['model', { top: 1 }],
    ['model', { top: null, model: 'gpt-5', keyId: 'key_a' }],
    ['key', { top: null, keyId: 'key_b' }],
  ] as const)('as series by %s, with %o', async (group, filter) => {
    const starts = bucketStarts(RANGE, 'day', 'Europe/Berlin', 100)!
    const query = { accountId, range: RANGE, beforeMs: RANGE.fromMs - 86_400_000, starts, group, ...filter }
    const [ours, theirs] = await Promise.all(
      [copied(), originals()].map(({ series }) => series(query, 1_000)),
    )
    expect(theirs!.length).toBeGreaterThan(1)
    expect(ours!.map(withoutLatencies)).toEqual(theirs!.map(withoutLatencies))
    for (const [index, cell] of theirs!.entries())
      for (const name of LATENCIES) {
        const [exact, counted] = [ours![index]![name], cell[name]]
        if (filter.top !== null && cell.bucket >= 0) continue
        expect(exact === null).toBe(counted === null)
        // PostgreSQL has counts of calls by latency, whose buckets are a fifth wide.
        if (cell.calls >= MANY) expect(counted! / exact!).toBeCloseTo(1, 0.7)
      }
  })

  test('of an account without calls, and of more groups than are asked for', async () => {
    const stranger = await openTestAccount(ledger.postgres, 1n)
    for (const { usage, series } of [copied(), originals()]) {
      expect(await usage(stranger, RANGE, 'day', 10)).toEqual({
        rows: [],
        total: { calls: 0n, promptTokens: 0n, completionTokens: 0n, chargePico: 0n },
      })
      expect(await usage(accountId, RANGE, 'day', 3)).toBeNull()
      const starts = bucketStarts(RANGE, 'day', 'UTC', 100)!
      const query = { accountId, range: RANGE, beforeMs: 0, starts, group: 'model', top: null } as const
      expect(await series(query, 3)).toBeNull()
    }
  })
})

describe('each settled call is there once', () => {
  beforeEach(async () => void (await copy()))

  test('however often it is copied, and whatever of a copy failed', async () => {
    const lost: ClickHouse = {
      ...clickHouse,
      async insert(table, rows) {
        if (table === 'shuntyard_position') throw new Error('lost')
        await clickHouse.insert(table, rows)
      },
    }
    await createSettlementStore(ledger.postgres).settle([settlementOf(accountId), settlementOf(accountId)])
    await expect(copy(lost)).rejects.toThrow('lost')
    await expect(copy(lost)).rejects.toThrow('lost')
    expect(await copy()).toBe(2)
    expect(await copy()).toBe(0)
    const [ours, theirs] = await totals()
    expect(ours).toEqual(theirs)
  })

  test('with the record that replaced another one', async () => {
    const { id, ...served } = settlementOf(accountId)
    const store = createSettlementStore(ledger.postgres)
    await store.settle([unservedSettlementOf(accountId, { id, admittedAt: served.admittedAt })])
    await copy()
    await store.settle([{ id, ...served }])
    expect(await copy()).toBe(1)
    const [ours, theirs] = await totals()
    expect(ours).toEqual(theirs)
  })

  test('when its settlement commits after later ones were copied', async () => {
    const late = new Client({ connectionString: ledger.url })
    await late.connect()
    const store = createSettlementStore(ledger.postgres)
    // Of another account: settlements of one account wait for each other.
    const other = await openTestAccount(ledger.postgres, 1_000n)
    const [first, second] = [settlementOf(other), settlementOf(accountId)]
    await late.query('CREATE TEMP TABLE one AS SELECT * FROM call_records WHERE account_id = $1 LIMIT 1', [
      accountId,
    ])
    await late.query('BEGIN')
    await late.query('UPDATE one SET id = $1, account_id = $2, written_xact = written_xact()', [
      first.id,
      other,
    ])
    await late.query('INSERT INTO call_records SELECT * FROM one')
    await store.settle([second])
    const there = () =>
      clickHouse.select<{ id: string }>(
        'SELECT id FROM shuntyard_calls FINAL WHERE id = {first:String} OR id = {second:String} ORDER BY id',
        { first: first.id, second: second.id },
      )
    await copy()
    expect(await there()).toEqual([])
    await late.query('COMMIT')
    await late.end()
    await copy()
    expect(await there()).toEqual([first, second].map(({ id }) => ({ id })))
  })

  test('in a server that has lost its data, with calls from before transactions were recorded', async () => {
    const client = new Client({ connectionString: ledger.url })
    await client.connect()
    await client.query(`SET session_replication_role = replica`)
    await client.query(`UPDATE call_records SET written_xact = NULL WHERE requested_model = 'acme/large'`)
    await client.end()
    const [before] = await totals()
    await server.restartEmpty()
    await copy()
    const [after] = await totals()
    expect(after).toEqual(before)
  })
})

test('a server that rejects the user is an error that names neither password nor call', async () => {
  const address = new URL(server.url)
  address.password = 'wrong'
  const error = await createAnalyticsTables(createClickHouse(address.href)).catch((cause: Error) => cause)
  expect(String(error)).toMatch(/403.*AUTHENTICATION_FAILED/)
  expect(String(error)).not.toContain('wrong')
})
