import { describe, expect, it } from 'vitest'
import { localPath } from '../../src/console/app/local-path.ts'

describe('where to go on after signing in', () => {
  it.each(['/dashboard', '/usage?days=7', '/calls/chatcmpl_1'])('takes %s, a page of this site', (path) => {
    expect(localPath(path)).toBe(path)
  })

  it.each([
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

  it('does not lead back to signing in', () => {
    expect(localPath('/sign-in?next=/keys')).toBeNull()
  })
})
