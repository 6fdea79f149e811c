import { describe, expect, test } from 'vitest'
import { callPeriod, isCallId, readCallFilters } from '../../web/lib/calls/call-filters.ts'
import { orderChange, placeQuery, readOrder } from '../../web/lib/calls/call-order.ts'

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

test('the period of calls begins before the moment to go to, and has a year at most', () => {
  const now = new Date('2027-03-01T12:00:00Z')
  expect(callPeriod({}, null, now)).toEqual({ from: '2027-01-31' })
  expect(callPeriod({ days: '7' }, '2027-02-27T08:00:00.000Z', now)).toEqual({ from: '2027-02-23' })
  expect(callPeriod({ days: '7' }, '2027-02-20T08:00:00.000Z', now)).toEqual({ from: '2027-02-13' })
  expect(callPeriod({ days: '1' }, '2025-06-01T00:00:00.000Z', now)).toEqual({
    from: '2025-05-31',
    to: '2026-06-01',
  })
})

test('a list of calls is ordered as its address says, from the place that it says', () => {
  const read = (at: string) => (at === 'wrong' ? null : `${at}:00.000Z`)
  expect(placeQuery({ sort: 'colour', at: '2027-01-31T14:00', cursor: 'abc' }, read)).toEqual({
    at: '2027-01-31T14:00:00.000Z',
    cursor: 'abc',
  })
  expect(placeQuery({ sort: 'cost', order: 'asc', at: '2027-01-31T14:00' }, read)).toEqual({
    sort: 'cost',
    order: 'asc',
  })
  expect(placeQuery({ at: 'wrong' }, read)).toEqual({})
  expect(readOrder({})).toEqual({ by: 'time', isAscending: false })
  expect(orderChange('time', false)).toEqual({})
})
