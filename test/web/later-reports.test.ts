import { expect, test } from 'vitest'
import { laterReports } from '../../web/lib/later-reports.ts'

test('a value that comes back while typing goes on does not replace what is typed; another does', () => {
  const reported = ['ann', 'ann@', 'ann@example']
  expect(laterReports(reported, 'ann')).toEqual(['ann@', 'ann@example'])
  expect(laterReports(reported, 'ann@example')).toEqual([])
  expect(laterReports(['ann@example'], 'ann')).toBe(null)
  expect(laterReports([], '')).toBe(null)
})
