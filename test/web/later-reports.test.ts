import { expect, test } from 'vitest'
import { laterReports } from '../../web/lib/later-reports.ts'

test('a reported value that comes back does not replace what was typed since; another does', () => {
  const reported = ['ann', 'ann@', 'ann@example']
  expect(laterReports(reported, 'ann')).toEqual(['ann@', 'ann@example'])
  expect(laterReports(reported, 'ann@example')).toEqual([])
  expect(laterReports(['ann@example'], 'ann')).toBe(null)
  expect(laterReports([], '')).toBe(null)
})
