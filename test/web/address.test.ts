import { describe, expect, test } from 'vitest'
import { localPath, readQuery, writeQuery } from '../../web/app/address.ts'

describe('the address to continue at after signing in', () => {
  test.each(['/dashboard', '/usage?days=7', '/calls/chatcmpl_1'])('takes %s, a page of this site', (path) => {
    expect(localPath(path)).toBe(path)
  })

  test.each([
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '/a\\b',
    'javascript:alert(1)',
    '/\t/x',
    '',
  ])('never leads to another site by %j', (path) => {
    expect(localPath(path)).toBeNull()
  })

  test('does not lead back to signing in', () => {
    expect(localPath('/sign-in?next=/keys')).toBeNull()
  })
})

describe('what stands in an address', () => {
  test('is read as it was written, as plain text', () => {
    const search = { q: 'claude & "co" 100%', days: '7', zdr: 'true' }
    expect(writeQuery(search)).toContain('days=7&zdr=true')
    expect(readQuery(writeQuery(search))).toEqual(search)
  })

  test('is nothing where nothing is set', () => {
    expect(writeQuery({ q: undefined, vendor: null })).toBe('')
    expect(readQuery('')).toEqual({})
  })
})
