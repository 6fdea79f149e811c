import { describe, expect, test } from 'vitest'
import { isCallId, readCallFilters } from '../../web/lib/calls/call-filters.ts'

describe('the filters of the operators’ calls', () => {
  test('are those that the address of a page names', () => {
    const search = {
      account: ' acct_1 ',
      model: 'gpt-5',
      status: 'failed',
      min_duration_ms: 250,
      days: '7',
    }
    expect(readCallFilters(search)).toEqual({
      account: 'acct_1',
      model: 'gpt-5',
      status: 'failed',
      min_duration_ms: '250',
      days: '7',
    })
  })

  test('leave out what is no filter, without an error', () => {
    const search = {
      account: '',
      key: ['a'],
      status: 'happy',
      min_duration_ms: '-1',
      days: '9',
      limit: '5000',
    }
    expect(readCallFilters(search)).toEqual({})
  })

  test('are bounded in length', () => {
    expect(readCallFilters({ offer: 'x'.repeat(10_000) }).offer).toHaveLength(200)
  })

  test.each([
    ['chatcmpl_01M7ZA51M602X6B2D7C6EEY6N3', true],
    ['chatcmpl_01M7ZA51M602X6B2D7C6EEY6N', false],
    ['chatcmpl_01M7ZA51M602X6B2D7C6EEY6U3', false],
    ['acct_01M7ZA2ZEWJ9QWKD3QMHVFNF2Z', false],
  ])('know the id %s', (text, isId) => {
    expect(isCallId(text)).toBe(isId)
  })
})
