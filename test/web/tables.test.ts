import { describe, expect, test, vi } from 'vitest'
import type { KeyView } from '../../src/core/api/keys.ts'
import { exportName, formatBytes, readCsv } from '../../web/lib/download.ts'
import { type KeySearch, keyOrder, listKeys } from '../../web/lib/key-list.ts'
import { rowsOfPage } from '../../web/lib/rows-of-page.ts'
import { keepView, savedViews } from '../../web/lib/saved-views.ts'

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

describe('an export', () => {
  test('counts its rows and bytes while it is read, wherever its parts are cut', async () => {
    const text = '"id","title"\r\n1,"a\nb"\r\n2,"ü"\r\n'
    const bytes = new TextEncoder().encode(text)
    const parts = [bytes.slice(0, 13), bytes.slice(13, 20), bytes.slice(20)]
    const body = new ReadableStream({
      pull: (controller) => {
        const part = parts.shift()
        if (part) controller.enqueue(part)
        else controller.close()
      },
    })
    const seen: number[] = []
    const { file, ...done } = await readCsv(new Response(body), ({ rows: count }) => seen.push(count))
    expect(done).toEqual({ rows: 2, bytes: bytes.length })
    expect(seen).toEqual([0, 0, 2])
    expect(await file.text()).toBe(text)
  })

  test('is named after what is in it', () => {
    expect(exportName('shuntyard requests', '2027-01-01', 'to', undefined, '', 'openai/gpt-5 “mini”')).toBe(
      'shuntyard-requests-2027-01-01-to-openai-gpt-5-mini.csv',
    )
    expect([999, 12_345, 11_500_000].map(formatBytes)).toEqual(['999 B', '12 kB', '11.5 MB'])
  })
})

test('views are kept by page and owner, one of each name, and forgotten', () => {
  const stored = new Map<string, string>()
  vi.stubGlobal('localStorage', {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, text: string) => stored.set(name, text),
  })
  keepView('usage', 'acct_1', 'Slow', '?sort=duration')
  keepView('usage', 'acct_1', 'Failed', '?status=failed')
  const views = keepView('usage', 'acct_1', 'Slow', '?sort=duration&days=7')
  expect(views).toEqual([
    { name: 'Failed', query: '?status=failed' },
    { name: 'Slow', query: '?sort=duration&days=7' },
  ])
  expect(savedViews('usage', 'acct_1')).toEqual(views)
  expect([savedViews('usage', 'acct_2'), savedViews('calls', 'acct_1')]).toEqual([[], []])
  keepView('usage', 'acct_1', 'Failed', null)
  expect(savedViews('usage', 'acct_1')).toHaveLength(1)
  for (const name of stored.keys()) stored.set(name, '{"no":"list"}')
  expect(savedViews('usage', 'acct_1')).toEqual([])
  vi.unstubAllGlobals()
})
