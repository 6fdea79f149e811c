import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMarginStore } from '../../src/billing/reports/margin-store.ts'
import type { GatewayHoursView, MarginView } from '../../src/core/api/billing.ts'
import type { AttemptRecord } from '../../src/core/calls/call-job.ts'
import { formatUsd, parseUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { adminClient } from '../helpers/admin-client.ts'
import { ask, type Caller, streamed } from '../helpers/chat-client.ts'
import { untilIdle } from '../helpers/ledger.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'

/** So cheap at alpha, in pico-USD a token, that the draw by price makes it the first as good as always. */
const ALPHA_COST = 100n
let stack: TestStack
let caller: Caller

beforeAll(async () => {
  const pair = (model: string) => [
    { at: 'alpha', model, cost: '0.0001' },
    { at: 'beta', model, cost: '0.50' },
  ]
  stack = await startStack({
    models: {
      'test/rescued': pair('words-40.on-alpha-cut-after-7'),
      'test/interrupted': [{ at: 'alpha', model: 'words-40.cut-after-7', cost: '0.0001' }],
      'test/refused': pair('words-40.on-alpha-status-500'),
    },
    environment: { RETRY_BUDGET_FLOOR: '10000', BREAKER_FAILURES: '1000' },
  })
  caller = await stack.account('5.00')
})
afterAll(() => stack?.close())

async function recordOf(id: string | null) {
  await untilIdle(stack)
  const record = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id: id ?? '' } })
  return { ...record, attempts: record.attempts as unknown as AttemptRecord[] }
}

const costOf = ({ spent }: AttemptRecord): bigint =>
  BigInt((spent?.promptTokens ?? 0) + (spent?.completionTokens ?? 0)) * ALPHA_COST

test.each([
  ['a stream that was rescued', streamed],
  ['an answer given whole that failed over', ask],
])(
  'the attempt that broke is costed with what it used, apart from the one that served: %s',
  async (_name, way) => {
    const { id } = await way(caller, { model: 'test/rescued' })
    const { status, attempts, servedOfferId } = await recordOf(id)
    expect({ status, servedOfferId }).toMatchObject({ status: 'completed' })
    const [broken, served] = attempts
    expect(attempts).toHaveLength(2)
    expect(broken?.spent?.promptTokens).toBeGreaterThan(0)
    expect(broken?.spent?.completionTokens).toBeGreaterThan(0)
    expect(broken?.spent?.costPico).toBe(String(costOf(broken!)))
    expect(served?.spent).toBeUndefined()
  },
)

test('an answer that was cut off is costed once: as the usage of its call', async () => {
  const { id } = await streamed(caller, { model: 'test/interrupted' })
  const { status, completionTokens, attempts } = await recordOf(id)
  expect(status).toBe('interrupted')
  expect(completionTokens).toBeGreaterThan(0)
  expect(attempts[0]?.spent).toBeUndefined()
})

test('an attempt that was refused before it produced anything cost nothing', async () => {
  const { id } = await ask(caller, { model: 'test/refused' })
  expect((await recordOf(id)).attempts.map(({ spent }) => spent)).toEqual([undefined, undefined])
})

test('the margin report sums broken attempts apart, with their own provider, and takes them off the margin', async () => {
  const records = await stack.postgres.callRecord.findMany()
  const spent = records
    .flatMap(({ attempts }) => attempts as unknown as AttemptRecord[])
    .reduce((sum, attempt) => sum + costOf(attempt), 0n)
  expect(spent).toBeGreaterThan(0n)
  const day = { fromMs: Date.now() - 86_400_000, toMs: Date.now() + 900_000 }
  const rest = await createMarginStore(stack.postgres).days(day, 0)
  const [lost] = rest.map(({ marginPico }) => marginPico)
  expect(rest).toMatchObject([{ model: '' }])
  const admin = adminClient(stack, await stack.adminKey())
  const { data: hours, total: ofDay } = await admin.get<GatewayHoursView>('/hours')
  expect(hours).toHaveLength(24)
  for (const name of ['calls', 'failed_calls'] as const)
    expect(hours.reduce((sum, hour) => sum + hour[name], 0)).toBe(ofDay[name])
  expect(ofDay).toMatchObject({ calls: records.length, margin_usd: formatUsd(lost ?? 0n) })
  expect(ofDay.failed_calls).toBe(records.filter(({ status }) => status === 'failed').length)
  expect(ofDay.first_token_p95_ms).toBeGreaterThan(0)
  for (const group of ['model', 'provider', 'day']) {
    const { total, data, days } = await admin.get<MarginView>(`/margin?group_by=${group}`)
    expect(total).toMatchObject({ calls: records.length, broken_cost_usd: formatUsd(picoUsd(spent)) })
    const margin = parseUsd(total.revenue_usd) - parseUsd(total.cost_usd) - spent
    expect(parseUsd(total.margin_usd)).toBe(margin)
    expect(days.reduce((sum, { margin_usd: usd }) => sum + parseUsd(usd), 0n)).toBe(margin)
    expect(lost).toBe(margin)
    expect(days.map(({ model }) => model)).toContain('test/rescued')
    if (group !== 'provider') continue
    const rows = new Map(data.map((row) => [row.group, row.broken_cost_usd]))
    expect(rows.get('alpha')).toBe(formatUsd(picoUsd(spent)))
    expect(rows.get('beta')).toBe('0.00')
  }
})
