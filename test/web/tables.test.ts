import { describe, expect, test } from 'vitest'
import type { KeyView } from '../../src/core/api/keys.ts'
import { type KeySearch, keyOrder, listKeys } from '../../web/lib/key-list.ts'
import { rowsOfPage } from '../../web/lib/rows-of-page.ts'

const rows = Array.from({ length: 120 }, (_, index) => index + 1)

test.each([
  [1, { page: 1, first: 1, last: 50 }],
  [3, { page: 3, first: 101, last: 120 }],
  [9, { page: 3, first: 101, last: 120 }],
  [Number.NaN, { page: 1, first: 1, last: 50 }],
  [-2, { page: 1, first: 1, last: 50 }],
])('page %d of 120 rows is the nearest that there is', (asked, expected) => {
  const { shown, ...page } = rowsOfPage(rows, asked)
  expect(page).toEqual({ ...expected, pages: 3 })
  expect(shown).toEqual(rows.slice(expected.first - 1, expected.last))
})

describe('the list of keys', () => {
  const key = (id: string, more: Partial<KeyView>) =>
    ({ id, name: id, hint: `sk-…${id}`, state: 'active', ...NO_USE, ...more }) as KeyView
  const NO_USE = {
    spent_usd: '0.00',
    limit_usd: null,
    remaining_usd: null,
    last_used_at: null,
    created_at: '2027-01-01',
  }
  const keys = [
    key('b', { spent_usd: '10.00', last_used_at: '2027-01-03T00:00:00Z' }),
    key('a', { spent_usd: '9.5', limit_usd: '9.5', remaining_usd: '0.00', created_at: '2027-01-02' }),
    key('c', { state: 'paused', name: 'Billing service', limit_usd: '100.00', remaining_usd: '100.00' }),
    key('d', { state: 'revoked', name: '', created_at: '2026-12-01' }),
  ]
  const ids = (search: KeySearch) => listKeys(keys, search).map(({ id }) => id)

  test.each<[KeySearch, string[]]>([
    [{}, ['a', 'b', 'c', 'd']],
    [{ order: 'asc' }, ['d', 'b', 'c', 'a']],
    [{ sort: 'spent' }, ['b', 'a', 'c', 'd']],
    [{ sort: 'limit', order: 'asc' }, ['a', 'c', 'b', 'd']],
    [{ sort: 'used' }, ['b', 'a', 'c', 'd']],
    [{ sort: 'name', order: 'asc' }, ['a', 'b', 'c', 'd']],
    [{ q: ' BILL ' }, ['c']],
    [{ q: 'sk-…d' }, ['d']],
    [{ state: 'active' }, ['b']],
    [{ state: 'limit_reached' }, ['a']],
    [{ state: 'paused' }, ['c']],
    [{ state: 'revoked', q: 'x' }, []],
  ])('with %j is %j', (search, expected) => {
    expect(ids(search)).toEqual(expected)
  })

  test('is in the order of creation for an order that it does not know', () => {
    expect(keyOrder({ sort: 'colour', order: 'asc' })).toEqual({ by: 'created', isAscending: true })
  })
})
