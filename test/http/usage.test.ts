import { beforeAll, describe, expect, test } from 'vitest'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import type { SettlementRecord } from '../../src/core/calls/call-job.ts'
import { formatUsd, parseUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { failedSettlementOf, settlementOf } from '../helpers/billing.ts'
import { ask, streamed } from '../helpers/chat-client.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { expectError } from './wire.ts'

interface Sums {
  calls: number
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  cost_usd: string
}
type Row = Sums & {
  day?: string
  model?: string
  key_id?: string
  key_name?: string | null
  user?: string | null
  is_other?: boolean
}
interface Report {
  from: string
  to: string
  group_by: string
  data: Row[]
  total: Sums
}
interface Page {
  data: Array<{ id: string; cost_usd: string; timings: { admitted_at: string } }>
  has_more: boolean
  next_cursor: string | null
}

const DAY_MS = 86_400_000
/** A day long gone, so that calls made by these tests now lie outside. */
const START = Date.UTC(2025, 2, 1)
const SPAN = 'from=2025-03-01&to=2025-04-01'

let settled: SettlementRecord[]

const stack = testStack({
  databaseProxy: true,
})
const owner = testAccount(stack, '9000000.00', { name: 'web' })
beforeAll(async () => {
  const stranger = await stack.account('9000000.00')
  settled = Array.from({ length: 2_500 }, (_, index) => callOf(owner.accountId, index))
  const store = createSettlementStore(stack.postgres)
  await store.settle([
    ...settled,
    ...settled.slice(0, 50).map((_, index) => callOf(stranger.accountId, index)),
  ])
})

const userOf = (index: number) => `user:user-${index % 240}`

/** Calls over 30 days, half of them of a tag and one of 120 end users, of five models and two keys, every seventh of them failed; some at the same moment. */
function callOf(accountId: string, index: number): SettlementRecord {
  const changes = {
    keyId: index % 3 === 0 ? owner.keyId : 'key_gone',
    requestedModel: `acme/large-${index % 5}`,
    ...(index % 2 === 0 && { labels: { groups: ['tag:team=search', userOf(index)] } }),
    admittedAt: START + (index % 30) * DAY_MS + (index % 4) * (DAY_MS / 4 - 1),
    holdPico: '9000000000000000',
  }
  if (index % 7 === 0) return failedSettlementOf(accountId, changes)
  const [promptTokens, completionTokens] = [index, index * 3]
  return settlementOf(accountId, {
    ...changes,
    usage: { promptTokens, completionTokens },
    // Some rates whose sums no floating-point number can hold.
    served: { ...settlementOf(accountId).served!, rate: { prompt: '1234567', completion: '98765432' } },
    chargePico: String(BigInt(promptTokens) * 1_234_567n + BigInt(completionTokens) * 98_765_432n),
  })
}

const get = (path: string, key = owner.key, headers: Record<string, string> = {}) =>
  fetch(`${stack.url}/v1/${path}`, { headers: { authorization: `Bearer ${key}`, ...headers } })

async function report(query: string, key?: string): Promise<Report> {
  const response = await get(`usage?${query}`, key)
  expect(response.status).toBe(200)
  return (await response.json()) as Report
}

const charge = (calls: SettlementRecord[]) => calls.reduce((sum, call) => sum + BigInt(call.chargePico), 0n)

/** What the ledger took for the calls that a condition on their records picks, pico-USD. */
async function captured(accountId: string, condition = 'true'): Promise<bigint> {
  const [row] = await stack.postgres.$queryRawUnsafe<Array<{ paid: string }>>(
    `SELECT coalesce(-sum(e.amount_pico), 0)::text AS paid FROM ledger_entries AS e
     JOIN call_records AS c ON c.id = e.transaction_id
     WHERE e.kind = 'capture' AND e.ledger_account = 'customer:' || $1 AND ${condition}`,
    accountId,
  )
  return BigInt(row!.paid)
}

describe('GET /v1/usage', () => {
  test.each(['day', 'model', 'key'] as const)('by %s equals the ledger to the last pico', async (group) => {
    const { data, total, ...head } = await report(`${SPAN}&group_by=${group}`)
    expect(head).toEqual({
      object: 'usage',
      from: '2025-03-01T00:00:00.000Z',
      to: '2025-04-01T00:00:00.000Z',
      group_by: group,
    })
    expect(data).toHaveLength({ day: 30, model: 5, key: 2 }[group])
    const conditionOf = (row: Row) => {
      if (row.day)
        return `to_timestamp(c.admitted_at_ms / 1000.0) AT TIME ZONE 'UTC' >= '${row.day}'::date
        AND to_timestamp(c.admitted_at_ms / 1000.0) AT TIME ZONE 'UTC' < '${row.day}'::date + 1`
      return row.model ? `c.requested_model = '${row.model}'` : `c.key_id = '${row.key_id}'`
    }
    for (const row of data) {
      expect(row.cost_usd).toBe(formatUsd(picoUsd(await captured(owner.accountId, conditionOf(row)))))
    }
    const costs = data.map((row) => parseUsd(row.cost_usd) as bigint)
    expect(costs.reduce((sum, cost) => sum + cost, 0n)).toBe(charge(settled))
    expect(total).toEqual({
      calls: settled.length,
      prompt_tokens: settled.reduce((sum, call) => sum + call.usage.promptTokens, 0),
      completion_tokens: settled.reduce((sum, call) => sum + call.usage.completionTokens, 0),
      total_tokens: settled.reduce((sum, { usage }) => sum + usage.promptTokens + usage.completionTokens, 0),
      cost_usd: formatUsd(picoUsd(charge(settled))),
    })
    for (const name of ['calls', 'prompt_tokens', 'completion_tokens'] as const) {
      expect(data.reduce((sum, row) => sum + row[name], 0)).toBe(total[name])
    }
  })

  test('by end user has the hundred that cost the most, one row for the others, and one for calls that name none', async () => {
    const { data, total } = await report(`${SPAN}&group_by=user`)
    const byUser = Map.groupBy(settled, ({ labels }) => labels?.groups?.[1]?.slice('user:'.length) ?? null)
    const costs = [...byUser].flatMap(([user, calls]) =>
      user === null ? [] : [[user, charge(calls)] as const],
    )
    costs.sort(
      (a, b) =>
        Number(b[1] - a[1]) || byUser.get(b[0])!.length - byUser.get(a[0])!.length || (a[0] < b[0] ? -1 : 1),
    )
    const rowOf = (user: string | null, calls: number, cost: bigint) => ({
      ...{ user, calls, cost_usd: formatUsd(picoUsd(cost)) },
      is_other: user === 'other',
    })
    const rest = costs.slice(100)
    const callsOf = (users: typeof costs) => users.reduce((sum, [user]) => sum + byUser.get(user)!.length, 0)
    expect(data.map(({ user, calls, cost_usd, is_other }) => ({ user, calls, cost_usd, is_other }))).toEqual([
      ...costs.slice(0, 100).map((each) => rowOf(each[0], callsOf([each]), each[1])),
      rowOf(
        'other',
        callsOf(rest),
        rest.reduce((sum, [, cost]) => sum + cost, 0n),
      ),
      rowOf(null, byUser.get(null)!.length, charge(byUser.get(null)!)),
    ])
    expect(total.calls).toBe(settled.length)
    const csv = await (await get(`usage?${SPAN}&group_by=tag&format=csv`)).text()
    const [head, search, none] = csv.split('\r\n')
    expect(head).toBe(
      '"tag","is_other","calls","prompt_tokens","completion_tokens","total_tokens","cost_usd"',
    )
    expect(search).toMatch(/^"team=search",false,1250,/)
    expect(none).toMatch(/^,false,1250,/)
  })

  test('names keys that there are', async () => {
    const { data } = await report(`${SPAN}&group_by=key`)
    const names = data.map(({ key_id: id, key_name: name }) => [id, name])
    expect(new Map(names as Array<[string, string | null]>)).toEqual(
      new Map([
        [owner.keyId, 'web'],
        ['key_gone', null],
      ]),
    )
  })

  test('counts from the first moment of a span to just before its last', async () => {
    const moment = settled[1]!.admittedAt
    const iso = (unixMs: number) => encodeURIComponent(new Date(unixMs).toISOString())
    const same = settled.filter((call) => call.admittedAt === moment).length
    expect(same).toBeGreaterThan(1)
    expect((await report(`from=${iso(moment)}&to=${iso(moment + 1)}`)).total.calls).toBe(same)
    expect((await report(`from=${iso(moment + 1)}&to=${iso(moment + 2)}`)).total).toEqual({
      calls: 0,
      prompt_tokens: 0,
      completion_tokens: 0,
      total_tokens: 0,
      cost_usd: '0.00',
    })
  })

  test('takes a zone for what it is', async () => {
    const shifted = await report('from=2025-03-01T02:00:00%2B02:00&to=2025-04-01T00:00:00Z')
    expect(shifted).toMatchObject({ from: '2025-03-01T00:00:00.000Z' })
  })

  test('covers the last 30 days without a span, calls of just now among them', async () => {
    const { key, accountId } = await stack.account('5.00')
    const caller = { url: stack.url, key }
    await Promise.all([ask(caller, { model: 'test/one' }), streamed(caller, { model: 'auto' })])
    await stack.settled(accountId)
    const { data, total, from, to } = await report('group_by=model', key)
    expect(data.map((row) => [row.model, row.calls])).toEqual([
      ['auto', 1],
      ['test/one', 1],
    ])
    expect(total.cost_usd).toBe(formatUsd(picoUsd(await captured(accountId))))
    expect(Date.parse(to) - Date.parse(from)).toBe(30 * DAY_MS)
  })

  test('comes as CSV by parameter or by Accept, with the same figures', async () => {
    const { data } = await report(`${SPAN}&group_by=model`)
    const answers = [
      await get(`usage?${SPAN}&group_by=model&format=csv`),
      await get(`usage?${SPAN}&group_by=model`, owner.key, { accept: 'text/csv' }),
    ]
    for (const answer of answers) {
      expect(answer.headers.get('content-type')).toMatch(/^text\/csv/)
      expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('1000000')
      expect((await answer.text()).split('\r\n')).toEqual([
        '"model","calls","prompt_tokens","completion_tokens","total_tokens","cost_usd"',
        ...data.map((row) =>
          [
            `"${row.model}"`,
            row.calls,
            row.prompt_tokens,
            row.completion_tokens,
            row.total_tokens,
            row.cost_usd,
          ].join(),
        ),
        '',
      ])
    }
  })

  test.each([
    ['from=yesterday', 'from'],
    ['from=2025-02-30', 'from'],
    ['to=2025-13-01', 'to'],
    ['from=2025-03-02T00:00:00', 'from'],
    ['from=2025-03-02&to=2025-03-02', 'from'],
    ['from=2020-01-01&to=2025-01-01', 'from'],
    ['from=2025-03-01&to=2025-04-02&group_by=user', 'from'],
    ['group_by=week', 'group_by'],
    ['format=xml', 'format'],
    ['form=csv', 'form'],
    ['from=2025-01-01&from=2025-01-02', 'from'],
  ])('refuses %s', async (query, param) => {
    const error = await expectError(await get(`usage?${query}`), 400, 'invalid_request')
    expect(error.param).toBe(param)
  })

  test("keeps an account's ledger from other accounts, and shows them to admin keys that name it", async () => {
    const stranger = await stack.account('1.00')
    const path = `usage?${SPAN}&account_id=${owner.accountId}`
    await expectError(await get(path, stranger.key), 403, 'not_permitted')
    const admin = await stack.adminKey()
    expect((await report(`${SPAN}&account_id=${owner.accountId}`, admin)).total.calls).toBe(settled.length)
    await expectError(await get(`usage?${SPAN}`, admin), 400, 'invalid_request')
  })
})

describe('GET /v1/usage/calls', () => {
  test('gives every call once, newest first, page by page', async () => {
    const ids: string[] = []
    const times: string[] = []
    let cursor: string | null = ''
    let pages = 0
    while (cursor !== null) {
      const response = await get(`usage/calls?${SPAN}&limit=700&cursor=${cursor}`)
      const page = (await response.json()) as Page
      ids.push(...page.data.map((call) => call.id))
      times.push(...page.data.map((call) => call.timings.admitted_at))
      expect(page.has_more).toBe(page.next_cursor !== null)
      cursor = page.next_cursor
      pages += 1
    }
    expect(pages).toBe(4)
    expect([...ids].sort()).toEqual(settled.map((call) => call.id as string).sort())
    expect(times).toEqual([...times].sort().reverse())
  })

  test('streams all of them as CSV, whose costs sum to what the ledger took', async () => {
    const response = await get(`usage/calls?${SPAN}&format=csv`)
    expect(response.headers.get('content-type')).toMatch(/^text\/csv/)
    const [head, ...lines] = (await response.text()).split('\r\n')
    const names = head!.split(',').map((name) => name.slice(1, -1))
    expect(lines.pop()).toBe('')
    expect(lines).toHaveLength(settled.length)
    const cells = lines.map((line) => line.split(','))
    const costs = cells.map((cell) => parseUsd(cell[names.indexOf('cost_usd')]!) as bigint)
    expect(costs.reduce((sum, cost) => sum + cost, 0n)).toBe(await captured(owner.accountId))
    // Each charge can be recomputed from its own line.
    const first = cells.find((cell) => cell[names.indexOf('status')] === '"completed"')!
    const column = (name: string) => first[names.indexOf(name)]!
    const recomputed =
      BigInt(column('prompt_tokens')) *
        BigInt(Math.round(Number(column('prompt_rate_usd_per_million')) * 1e6)) +
      BigInt(column('completion_tokens')) *
        BigInt(Math.round(Number(column('completion_rate_usd_per_million')) * 1e6))
    expect(parseUsd(column('cost_usd')) as bigint).toBe(recomputed)
  })

  test('names neither provider nor model behind a call', async () => {
    const { key, accountId } = await stack.account('5.00')
    await ask({ url: stack.url, key }, { model: 'auto' })
    await stack.settled(accountId)
    const text =
      (await (await get('usage/calls', key)).text()) +
      (await (await get('usage/calls?format=csv', key)).text())
    expect(text).toMatch(/auto/)
    expect(text).not.toMatch(/alpha|words-12|test\/plain/)
  })

  test('breaks an export off when PostgreSQL goes away, so that half does not look like the whole', async () => {
    const proxy = stack.databaseProxy!
    const exported = () => get(`usage/calls?${SPAN}&format=csv`).then((response) => response.text())
    const before = proxy.sentBytes()
    await exported()
    // Within the second of its pages of 1,000, 1,000 and 500 calls: the first has been sent by then.
    proxy.refuseAfter(0.6 * (proxy.sentBytes() - before))
    try {
      await expect(exported()).rejects.toThrow('terminated')
    } finally {
      proxy.restore()
    }
    await expect.poll(async () => (await get(`usage?${SPAN}`)).status).toBe(200)
  })

  test.each([
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=many', 'limit'],
    ['cursor=nonsense', 'cursor'],
    ['group_by=day', 'group_by'],
  ])('refuses %s', async (query, param) => {
    const error = await expectError(await get(`usage/calls?${query}`), 400, 'invalid_request')
    expect(error.param).toBe(param)
  })
})
