import { beforeAll, describe, expect, test } from 'vitest'
import { ACCOUNT_USAGE, accountUsageValues, usageSpans } from '../../src/billing/reports/account-usage.ts'
import {
  CANONICAL_MODEL,
  createUsageSeriesStore,
  PERIOD_BEFORE,
  WHOLE_PERIOD,
} from '../../src/billing/reports/usage-series-store.ts'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import { bucketStarts } from '../../src/core/billing/time-buckets.ts'
import { newCallId } from '../../src/core/kernel/ids.ts'
import { failedSettlementOf, openTestAccount, settlementOf } from '../helpers/billing.ts'
import { testLedger } from '../helpers/resources.ts'

const ZONE = 'Europe/Berlin'
const RANGE = { fromMs: Date.parse('2027-03-27T23:00:00Z'), toMs: Date.parse('2027-04-02T22:00:00Z') }
const NAMES = ['gpt-5', 'openai/gpt-5', 'gpt-5:nitro', 'acme/large', 'auto:floor']

let accountId: string

const ledger = testLedger()
beforeAll(async () => {
  accountId = await openTestAccount(ledger.postgres, 1_000_000_000n)
  const stranger = await openTestAccount(ledger.postgres, 1_000_000_000n)
  const callOf = (account: string, index: number) => {
    // Over a week around the change of clocks; some at midnight.
    const admittedAt = RANGE.fromMs - 86_400_000 + index * 3_600_000
    const changes = {
      id: newCallId(admittedAt),
      requestedModel: NAMES[index % NAMES.length]!,
      keyId: index % 3 === 0 ? 'key_a' : 'key_b',
      admittedAt,
      claimedAt: admittedAt,
      firstTokenAt: admittedAt + 100 + ((index * 37) % 500),
      finishedAt: admittedAt + 1_000 + ((index * 53) % 900),
      holdPico: '1000000',
    }
    if (index % 7 === 0) return failedSettlementOf(account, { ...changes, firstTokenAt: null })
    const [promptTokens, completionTokens] = [index, index * 2]
    const chargePico = String(promptTokens + completionTokens * 2)
    return settlementOf(account, { ...changes, usage: { promptTokens, completionTokens }, chargePico })
  }
  const indexes = Array.from({ length: 200 }, (_, index) => index)
  await createSettlementStore(ledger.postgres).settle([
    ...indexes.map((index) => callOf(accountId, index)),
    ...indexes.slice(0, 20).map((index) => callOf(stranger, index)),
  ])
})

/** The same by PostgreSQL's own calendar, without a bucket or a grouping set. */
const figures = async (condition: string, ...values: unknown[]) => {
  const [row] = await ledger.postgres.$queryRawUnsafe<Array<Record<string, unknown>>>(
    `SELECT count(*)::integer AS calls, (count(*) FILTER (WHERE status = 'failed'))::integer AS failed,
            coalesce(sum(prompt_tokens), 0)::integer AS prompt, coalesce(sum(completion_tokens), 0)::integer AS completion,
            coalesce(sum(charge_pico), 0)::integer AS charge,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY first_token_at_ms - admitted_at_ms) AS first,
            percentile_disc(0.95) WITHIN GROUP (ORDER BY first_token_at_ms - admitted_at_ms) AS p95,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY finished_at_ms - admitted_at_ms) AS duration
     FROM call_records WHERE account_id = $1 AND admitted_at_ms >= $2::bigint AND admitted_at_ms < $3::bigint
       AND ${condition}`,
    accountId,
    BigInt(RANGE.fromMs),
    BigInt(RANGE.toMs),
    ...values,
  )
  return row
}

/** To the width of the bucket that the exact one is in. */
function expectNear(approximate: number | null, exact: number | bigint | undefined | null): void {
  if (exact == null) return expect(approximate).toBeNull()
  expect(approximate! / Number(exact)).toBeGreaterThan(1 / 2 ** 0.25)
  expect(approximate! / Number(exact)).toBeLessThan(2 ** 0.25)
}

const DAY = `(to_timestamp(admitted_at_ms / 1000.0) AT TIME ZONE '${ZONE}')::date`
const CONDITIONS = {
  model: `CASE WHEN requested_model LIKE '%gpt-5%' THEN 'gpt-5' ELSE split_part(requested_model, ':', 1) END`,
  key: 'key_id',
}

test.each(['model', 'key'] as const)('figures by day and %s are those of the call records', async (group) => {
  const starts = bucketStarts(RANGE, 'day', ZONE, 100)!
  const store = createUsageSeriesStore(ledger.postgres)
  const beforeMs = RANGE.fromMs - 86_400_000
  const cells = (await store.series({ accountId, range: RANGE, beforeMs, starts, group, top: null }, 1_000))!
  expect(cells.filter((cell) => cell.bucket >= 0 && cell.group === null)).toHaveLength(6)
  expect(cells.filter((cell) => cell.bucket === PERIOD_BEFORE)).toMatchObject([{ group: null, calls: 24n }])
  expect(new Set(cells.map((cell) => cell.group))).toEqual(
    new Set([null, ...(group === 'key' ? ['key_a', 'key_b'] : ['gpt-5', 'acme/large', 'auto'])]),
  )
  for (const { bucket, group: id, name, ...sums } of cells) {
    if (bucket === PERIOD_BEFORE) continue
    const values: unknown[] = []
    const value = (some: unknown) => `$${values.push(some) + 3}`
    const conditions = ['true']
    if (bucket !== WHOLE_PERIOD) {
      const day = new Intl.DateTimeFormat('en-CA', { timeZone: ZONE }).format(starts[bucket])
      conditions.push(`${DAY} = ${value(day)}::date`)
    }
    if (id !== null) conditions.push(`${CONDITIONS[group]} = ${value(id)}`)
    const expected = await figures(conditions.join(' AND '), ...values)
    const { first, p95, duration, ...counts } = expected as Record<string, number>
    expect({
      calls: Number(sums.calls),
      failed: Number(sums.failed),
      prompt: Number(sums.promptTokens),
      completion: Number(sums.completionTokens),
      charge: Number(sums.chargePico),
    }).toEqual(counts)
    expectNear(sums.firstTokenMs, first)
    expectNear(sums.firstTokenP95Ms, p95)
    expectNear(sums.durationMs, duration)
    expect(name).toBeNull()
  }
})

test('takes one model or key only, and says when there is too much', async () => {
  const starts = bucketStarts(RANGE, 'day', 'UTC', 100)!
  const { series } = createUsageSeriesStore(ledger.postgres)
  const query = { accountId, range: RANGE, beforeMs: RANGE.fromMs, starts, group: 'model', top: 1 } as const
  const [total] = (await series({ ...query, model: 'gpt-5', keyId: 'key_a' }, 1_000))!
  const expected = await figures(`requested_model LIKE '%gpt-5%' AND key_id = 'key_a'`)
  expect(Number(total?.calls)).toBe(expected?.calls)
  expect(await series(query, 3)).toBeNull()
})

test('over time, only the most expensive groups have cells', async () => {
  const starts = bucketStarts(RANGE, 'day', ZONE, 100)!
  const { series } = createUsageSeriesStore(ledger.postgres)
  const query = { accountId, range: RANGE, beforeMs: RANGE.fromMs, starts, group: 'model', top: 1 } as const
  const cells = (await series(query, 1_000))!
  const groups = cells.filter(({ bucket, group }) => bucket === WHOLE_PERIOD && group !== null)
  const [first] = groups.toSorted((a, b) => Number(b.chargePico - a.chargePico))
  expect(groups).toHaveLength(3)
  const inBuckets = cells.filter(({ bucket, group }) => bucket >= 0 && group !== null)
  expect(new Set(inBuckets.map(({ group }) => group))).toEqual(new Set([first?.group]))
  expect(inBuckets).toHaveLength(6)
})

test.each([
  ['openai/gpt-5:nitro', 'gpt-5'],
  ['gpt-5:floor', 'gpt-5'],
  ['acme/m:exacto', 'acme/m'],
  ['acme/m:7b', 'acme/m:7b'],
  ['openai/a/b', 'openai/a/b'],
  ['openai/', 'openai/'],
])('the model %s is counted as %s', async (named, counted) => {
  const [row] = await ledger.postgres.$queryRawUnsafe<Array<{ model: string }>>(
    `SELECT ${CANONICAL_MODEL} AS model FROM (SELECT $1::text AS requested_model) AS call`,
    named,
  )
  expect(row?.model).toBe(counted)
})

describe('the widest totals that fit are read', () => {
  const bounds = (interval: 'hour' | 'day' | 'month', zone: string) => {
    const range = { fromMs: Date.parse('2027-04-30T18:30:00Z'), toMs: Date.parse('2027-06-30T18:30:00Z') }
    return [range.fromMs, ...bucketStarts(range, interval, zone, 2_000)!.slice(1), range.toMs]
  }
  const HOUR = 3_600_000
  /** How many totals of each width there are, of one key and model. */
  const counted = (boundsMs: readonly number[]) => {
    const counts: Record<number, number> = {}
    for (const { widthMs, fromMs, toMs } of usageSpans(boundsMs))
      counts[widthMs / HOUR] = (counts[widthMs / HOUR] ?? 0) + (widthMs ? (toMs - fromMs) / widthMs : 1)
    return counts
  }

  test.each([
    ['hour', 'Europe/Berlin', { 0.25: 4, 1: 1463 }],
    ['day', 'America/New_York', { 0.25: 4, 1: 1463 }],
    ['day', 'UTC', { 0.25: 4, 1: 23, 24: 60 }],
    ['month', 'Asia/Kolkata', { 0.25: 8, 1: 46, 24: 59 }],
    ['hour', 'Asia/Kolkata', { 0.25: 5_856 }],
  ] as const)('by %s in %s', (interval, zone, expected) => {
    const boundsMs = bounds(interval, zone)
    expect(counted(boundsMs)).toEqual(expected)
  })

  test('and calls only where a period is not of whole quarters of an hour', async () => {
    expect(usageSpans([0, HOUR + 1])).toEqual([
      { widthMs: HOUR, fromMs: 0, toMs: HOUR },
      { widthMs: 0, fromMs: HOUR, toMs: HOUR + 1 },
    ])
    const values = accountUsageValues(accountId, bounds('hour', ZONE))
    const rows = await ledger.postgres.$queryRawUnsafe<Array<{ 'QUERY PLAN': string }>>(
      `EXPLAIN (ANALYZE, TIMING OFF) WITH ${ACCOUNT_USAGE} SELECT sum(calls) FROM usage`,
      ...values,
    )
    const scans = rows.map((row) => row['QUERY PLAN']).filter((line) => /Scan.* on call_records/.test(line))
    expect(scans.length).toBeGreaterThan(0)
    expect(scans.filter((line) => !line.includes('never executed'))).toEqual([])
  })
})
