import { beforeAll, expect, test } from 'vitest'
import type { AccountLedgerRow, AccountLedgerTotals } from '../../../src/core/api/account-ledger.ts'
import type { BalanceChanged } from '../../../src/core/api/accounts.ts'
import type { Page } from '../../../src/core/api/shared.ts'
import { parseUsd } from '../../../src/core/kernel/money.ts'
import { ask } from '../../helpers/chat-client.ts'
import { testAccount, testOperator, testStack } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

const CALLS = 5

let creditReference: string

const stack = testStack()
const admin = testOperator(stack)
const owner = testAccount(stack, '10.00')
beforeAll(async () => {
  for (let call = 0; call < CALLS; call++) await ask(owner, { model: 'test/one' })
  await stack.settled(owner.accountId)
  const credit = { amount_usd: '3.00', reason: '=goodwill, "large"' }
  creditReference = (await admin.post<BalanceChanged>(`/accounts/${owner.accountId}/credit`, credit))
    .reference
  await admin.post(`/accounts/${owner.accountId}/adjust`, { amount_usd: '-1.25', reason: 'posted twice' })
})

const page = (query = '') => admin.get<Page<AccountLedgerRow>>(`/accounts/${owner.accountId}/ledger${query}`)
async function allPages(query: string): Promise<AccountLedgerRow[]> {
  const rows: AccountLedgerRow[] = []
  for (let cursor = ''; ; ) {
    const { data, next_cursor: next } = await page(`?limit=2${query}${cursor}`)
    rows.push(...data)
    if (next === null) return rows
    cursor = `&cursor=${encodeURIComponent(next)}`
  }
}
const sumOf = (rows: readonly AccountLedgerRow[]) =>
  rows.reduce((sum, { amount_usd: amount }) => sum + signed(amount), 0n)
const signed = (usd: string) => (usd.startsWith('-') ? -parseUsd(usd.slice(1)) : parseUsd(usd))
const balance = async () =>
  (await stack.postgres.account.findUniqueOrThrow({ where: { id: owner.accountId } })).balancePico
const ledgerSum = async () => {
  const [row] = await stack.postgres.$queryRawUnsafe<Array<{ sum: string }>>(
    "SELECT sum(amount_pico)::text AS sum FROM ledger_entries WHERE ledger_account = 'customer:' || $1",
    owner.accountId,
  )
  return BigInt(row!.sum)
}

test('the lines add up to the balance, page by page, and each has the balance after it', async () => {
  for (const query of ['&calls=by_day', '&calls=each']) {
    const rows = await allPages(query)
    expect(sumOf(rows)).toBe(await ledgerSum())
    let after = await balance()
    for (const row of rows) {
      expect(signed(row.balance_usd!)).toBe(after)
      after -= signed(row.amount_usd)
    }
    expect(after).toBe(0n)
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
  }
})

test('a posting by hand has its reason and its operator; calls are summed by day or listed with their ids', async () => {
  const byDay = await allPages('')
  expect(byDay.map(({ kind }) => kind)).toEqual(['adjustment', 'credit', 'capture', 'credit'])
  const [adjustment, credit, day, opening] = byDay
  expect(adjustment).toMatchObject({
    amount_usd: '-1.25',
    reason: 'posted twice',
    by: expect.stringMatching(/^key_/),
  })
  expect(credit).toMatchObject({
    id: `${creditReference}/credit`,
    reason: '=goodwill, "large"',
    by: adjustment!.by,
  })
  expect(day).toMatchObject({ calls: CALLS, call_id: null, reason: null })
  expect(opening).toMatchObject({ amount_usd: '10.00', balance_usd: '10.00', by: null })
  const each = (await allPages('&calls=each')).filter(({ kind }) => kind === 'capture')
  const records = await stack.postgres.callRecord.findMany({ where: { accountId: owner.accountId } })
  expect(each.map(({ call_id: id }) => id).sort()).toEqual(records.map(({ id }) => id).sort())
  for (const { call_id: id, amount_usd: amount, model } of each) {
    expect(-signed(amount)).toBe(records.find((record) => record.id === id)!.chargePico)
    expect(model).toBe('test/one')
  }
})

test('one kind is listed alone, without balances', async () => {
  const credits = await allPages('&kind=credit')
  expect(credits.map(({ amount_usd: amount, balance_usd: after }) => [amount, after])).toEqual([
    ['3.00', null],
    ['10.00', null],
  ])
  const captures = await allPages('&kind=capture&calls=each')
  expect(captures).toHaveLength(CALLS)
  expect(await allPages('&kind=topup')).toEqual([])
})

test('the totals by kind come to the balance', async () => {
  const totals = await admin.get<AccountLedgerTotals>(`/accounts/${owner.accountId}/ledger/totals`)
  expect(totals.sum_usd).toBe(totals.balance_usd)
  expect(parseUsd(totals.balance_usd)).toBe(await balance())
  const [rows] = [
    await stack.postgres.$queryRawUnsafe<Array<{ kind: string; count: number; sum: string }>>(
      `SELECT kind::text, count(*)::integer AS count, sum(amount_pico)::text AS sum FROM ledger_entries
     WHERE ledger_account = 'customer:' || $1 GROUP BY kind ORDER BY kind::text`,
      owner.accountId,
    ),
  ]
  expect(
    totals.data.map(({ kind, count, amount_usd: amount }) => ({ kind, count, sum: String(signed(amount)) })),
  ).toEqual(rows)
})

test('all of it is exported as CSV, without formulas', async () => {
  const response = await admin.send('GET', `/accounts/${owner.accountId}/ledger.csv?calls=each`)
  expect(response.headers.get('content-type')).toContain('text/csv')
  const [head, ...lines] = (await response.text()).trimEnd().split('\r\n')
  expect(head).toMatch(/^"at","kind","amount_usd","balance_usd","id",/)
  expect(lines).toHaveLength(CALLS + 3)
  expect(lines[0]).toContain(',"adjustment",-1.25,')
  expect(lines.find((line) => line.includes('goodwill'))).toContain(`"'=goodwill, ""large"""`)
  const sum = lines.reduce((total, line) => total + signed(line.split(',')[2]!), 0n)
  expect(sum).toBe(await balance())
})

test('an account without lines is empty, and what is wrong is refused', async () => {
  const { id } = await stack.postgres.account.create({
    data: { id: 'acct_empty', email: 'e@e.test', state: 'exhausted' },
  })
  expect((await admin.get<Page<AccountLedgerRow>>(`/accounts/${id}/ledger`)).data).toEqual([])
  expect(await admin.get(`/accounts/${id}/ledger/totals`)).toMatchObject({
    data: [],
    sum_usd: '0.00',
    balance_usd: '0.00',
  })
  for (const query of ['?kind=gift', '?calls=all', '?cursor=x', '?cursor=eA.1', '?limit=0'])
    await expectError(
      await admin.send('GET', `/accounts/${owner.accountId}/ledger${query}`),
      400,
      'invalid_request',
    )
  for (const path of ['ledger', 'ledger/totals', 'ledger.csv'])
    await expectError(await admin.send('GET', `/accounts/nobody/${path}`), 404, 'not_found')
})

test('more exports at once than an operator may have are refused before they begin', async () => {
  const exports = await Promise.all(
    Array.from({ length: 6 }, () => admin.send('GET', `/accounts/${owner.accountId}/ledger.csv?calls=each`)),
  )
  const statuses = exports.map(({ status }) => status)
  expect(statuses).toContain(200)
  expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([])
  for (const answer of exports) await answer.text()
  expect((await admin.send('GET', `/accounts/${owner.accountId}/ledger.csv`)).status).toBe(200)
})
