import { beforeAll, expect, test, vi } from 'vitest'
import { createModelStatsStore } from '../../src/billing/reports/model-stats-store.ts'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import type { AttemptRecord, SettlementRecord } from '../../src/core/calls/call-job.ts'
import { newCallId } from '../../src/core/kernel/ids.ts'
import type { Postgres } from '../../src/platform/postgres/postgres.ts'
import { openTestAccount, settlementOf } from '../helpers/billing.ts'
import { testLedger } from '../helpers/resources.ts'

const NOW = Date.UTC(2027, 2, 1)
const DAY_MS = 86_400_000

let accountId: string

const ledger = testLedger()
beforeAll(async () => {
  accountId = await openTestAccount(ledger.postgres, 1_000_000n)
})

const attempt = (offerId: string, outcome: string, firstTokenMs = 100): AttemptRecord => ({
  offerId,
  outcome,
  httpStatus: 200,
  startedAt: NOW,
  firstTokenMs,
  durationMs: 1_100,
})

/** A call of `acme/large` at alpha that gave 21 tokens within a second after its first one. */
function callOf(index: number, changes: Partial<SettlementRecord> = {}): SettlementRecord {
  const admittedAt = NOW - DAY_MS - index
  const base = settlementOf(accountId)
  return {
    ...base,
    id: newCallId(admittedAt),
    requestedModel: 'acme/large',
    served: { ...base.served!, modelId: 'acme/large', offerId: 'alpha/large' },
    usage: { promptTokens: 9, completionTokens: 21 },
    chargePico: '51',
    admittedAt,
    claimedAt: admittedAt,
    firstTokenAt: admittedAt + 200 + index,
    finishedAt: admittedAt + 1_200 + index,
    attempts: [attempt('alpha/large', 'ok', 100 + index)],
    ...changes,
  }
}

/** Answers queries with `query`, if they are in a transaction that plans them for their values. */
function customPlanning(query: (...all: unknown[]) => Promise<unknown[]>): Postgres {
  const $transaction = async (run: (transaction: unknown) => Promise<unknown>) => {
    const settings: string[] = []
    return run({
      $executeRawUnsafe: async (sql: string) => settings.push(sql),
      $queryRawUnsafe: (...all: unknown[]) => {
        expect(settings).toEqual(['SET LOCAL plan_cache_mode = force_custom_plan'])
        return query(...all)
      },
    })
  }
  return { $transaction } as unknown as Postgres
}

const calls = (count: number, changes: Partial<SettlementRecord> = {}) =>
  Array.from({ length: count }, (_, index) => callOf(index, changes))

test('sums up calls that named their model, within the span, and no others', async () => {
  const atBeta = { ...settlementOf(accountId).served!, modelId: 'acme/large', offerId: 'beta/large' }
  await createSettlementStore(ledger.postgres).settle([
    ...calls(15),
    // Five that alpha failed, five that were none of its fault, and beta served.
    ...calls(5, {
      served: atBeta,
      requestedModel: 'acme/large:nitro',
      attempts: [attempt('alpha/large', 'server-error'), attempt('beta/large', 'ok')],
    }),
    ...calls(5, {
      served: atBeta,
      attempts: [attempt('alpha/large', 'rate-limited'), attempt('beta/large', 'ok', 700)],
    }),
    // What `auto` chose, a key of the client's own, and a call before the span change nothing.
    ...calls(20, { requestedModel: 'auto', attempts: [attempt('alpha/large', 'silent', 9_000)] }),
    ...calls(20, {
      served: null,
      status: 'failed',
      chargePico: '0',
      attempts: [{ ...attempt('alpha/large', 'refused'), providerKeyId: 'pkey_1' }],
    }),
    ...calls(20, { id: undefined!, admittedAt: 0 }).map((call, index) => ({
      ...call,
      id: newCallId(NOW - 8 * DAY_MS - index),
      admittedAt: NOW - 8 * DAY_MS - index,
    })),
    // Too few to say anything of their speed.
    ...calls(9, {
      served: { ...atBeta, modelId: 'acme/small', offerId: 'beta/small' },
      requestedModel: 'acme/small',
      attempts: [attempt('beta/small', 'ok')],
    }),
  ])
  const store = createModelStatsStore({
    postgres: ledger.postgres,
    clock: () => NOW,
    logger: { warn: vi.fn() },
  })
  const { models, offers, modelDays, offerDays, range } = (await store.stats())!
  expect(range).toEqual({ fromMs: NOW - 7 * DAY_MS, toMs: NOW })
  const [summed] = await ledger.postgres.$queryRawUnsafe<Array<{ calls: number; first: number }>>(
    `SELECT count(*)::integer AS calls,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY first_token_at_ms - admitted_at_ms) AS first
     FROM call_records WHERE served_model_id = 'acme/large' AND requested_model <> 'auto'
       AND admitted_at_ms BETWEEN $1::bigint AND $2::bigint`,
    BigInt(NOW - 7 * DAY_MS),
    BigInt(NOW),
  )
  expect(models.get('acme/large')).toMatchObject({
    calls: 25,
    firstTokenMs: summed!.first,
    tokensPerSecond: 20,
  })
  expect(summed!.calls).toBe(25)
  expect(models.get('acme/small')).toMatchObject({ calls: 9, firstTokenMs: null, tokensPerSecond: null })
  const alpha = offers.get('alpha/large')!
  expect(alpha).toMatchObject({ firstTokenMs: 107, uptime: 15 / 20 })
  expect(alpha.tokensPerSecond).toBeCloseTo(20_000 / 993, 6)
  expect(offers.get('beta/large')).toMatchObject({ firstTokenMs: 400, uptime: 1 })

  // The first of the calls is on the day of midnight, the others are on the day before.
  const day = Math.floor((NOW - DAY_MS) / DAY_MS)
  const days = modelDays.get('acme/large')!
  expect(days).toMatchObject([
    { day: day - 1, calls: 22, tokensPerSecond: 20 },
    { day, calls: 3, firstTokenMs: null, tokensPerSecond: null },
  ])
  expect(days[0]!.firstTokenMs).toBeGreaterThan(200)
  expect(offerDays.get('alpha/large')).toMatchObject([
    { day: day - 1, attempts: 18, succeeded: 14 },
    { day, attempts: 2, succeeded: 1 },
  ])
})

test('the first figures of models are computed without delaying the request', async () => {
  let answer = (_rows: unknown[]): void => undefined
  const query = vi.fn(() => new Promise<unknown[]>((resolve) => (answer = resolve)))
  const store = createModelStatsStore({
    postgres: customPlanning(query),
    clock: () => NOW,
    logger: { warn: vi.fn() },
  })
  expect(await store.stats()).toBeNull()
  answer([])
  await vi.waitFor(() => expect(query).toHaveBeenCalledTimes(2))
  answer([])
  await vi.waitFor(async () => expect(await store.stats()).not.toBeNull())
})

test('keeps figures for five minutes and through an outage', async () => {
  let now = NOW
  const warn = vi.fn()
  const query = vi.fn().mockResolvedValue([])
  const store = createModelStatsStore({
    postgres: customPlanning(query),
    clock: () => now,
    logger: { warn },
  })
  const first = await store.stats()
  expect(await store.stats()).toBe(first)
  expect(query).toHaveBeenCalledTimes(2)
  query.mockRejectedValue(new Error('away'))
  now += 300_000
  expect(await store.stats()).toBe(first)
  await vi.waitFor(() => expect(warn).toHaveBeenCalledTimes(1))
  expect(await store.stats()).toBe(first)
  expect(query).toHaveBeenCalledTimes(3)
})
