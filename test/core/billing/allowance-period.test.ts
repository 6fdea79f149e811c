import { expect, test } from 'vitest'
import {
  allowancePeriod,
  keptPeriods,
  type LimitReset,
  totalsOf,
} from '../../../src/core/billing/allowance-period.ts'
import { budgetsOf, drawnPeriod, drawText } from '../../../src/core/billing/budget.ts'

const HOUR_MS = 3_600_000

test.each<[LimitReset, string, number, number]>([
  ['daily', 'd2040-02-28', Date.UTC(2040, 1, 28), Date.UTC(2040, 1, 29)],
  // From a Monday to the Monday after it, over the end of a year.
  ['weekly', 'w2040-12-31', Date.UTC(2040, 11, 31), Date.UTC(2041, 0, 7)],
  ['monthly', 'm2040-02-01', Date.UTC(2040, 1, 1), Date.UTC(2040, 2, 1)],
])(
  'a %s period begins and ends at midnight in UTC, and not a moment before',
  (reset, id, startsAt, endsAt) => {
    const period = { id, startsAt, endsAt }
    for (const at of [startsAt, (startsAt + endsAt) / 2, endsAt - 1])
      expect(allowancePeriod(reset, at)).toEqual(period)
    expect(allowancePeriod(reset, startsAt - 1).endsAt).toBe(startsAt)
    expect(allowancePeriod(reset, endsAt).startsAt).toBe(endsAt)
    const before = allowancePeriod(reset, startsAt - 1)
    // Calls that were admitted at its end are still settled.
    expect(keptPeriods(reset, startsAt + HOUR_MS - 1)).toEqual([period, before])
    expect(keptPeriods(reset, startsAt + HOUR_MS)).toEqual([period])
  },
)

test('a limit for good has one period without an end', () => {
  const forGood = { id: 'total', startsAt: 0, endsAt: null }
  expect(allowancePeriod('none', Date.UTC(2090, 0, 1))).toEqual(forGood)
  expect(keptPeriods('none', 0)).toEqual([forGood])
  expect(totalsOf(forGood)).toEqual(['total'])
})

test('the total of a period is that of its days', () => {
  const days = totalsOf(allowancePeriod('monthly', Date.UTC(2040, 1, 10)))
  expect(days).toHaveLength(29)
  expect([days[0], days.at(-1)]).toEqual(['d2040-02-01', 'd2040-02-29'])
})

test('a call is bounded by the budgets of its key, of the member and of the account that have one', () => {
  const nowMs = Date.UTC(2040, 1, 10)
  const key = { accountId: 'acct_1', keyId: 'key_1', limitPico: 1n, limitReset: 'daily' } as const
  const member = { memberId: 'acct_2', limitPico: 2n }
  const all = budgetsOf({ ...key, memberBudget: member, accountLimitPico: 3n }, nowMs)
  expect(all.map(({ scope, id, limitPico, period }) => [scope, id, limitPico, period.id])).toEqual([
    ['key', 'key_1', 1n, 'd2040-02-10'],
    ['member', 'acct_2', 2n, 'm2040-02-01'],
    ['account', 'acct_1', 3n, 'm2040-02-01'],
  ])
  expect(budgetsOf({ ...key, limitPico: null, memberBudget: null, accountLimitPico: null }, nowMs)).toEqual(
    [],
  )
  const text = drawText(all)
  expect(text).toBe('d2040-02-10,acct_2@m2040-02-01,@m2040-02-01')
  for (const { scope, period } of all) expect(drawnPeriod(text, scope)).toBe(period.id)
  for (const scope of ['key', 'member', 'account'] as const) expect(drawnPeriod('', scope)).toBeNull()
  expect(drawnPeriod(drawText(all.slice(0, 1)), 'account')).toBeNull()
})
