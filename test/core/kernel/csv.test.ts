import { expect, test } from 'vitest'
import { csvLine } from '../../../src/http/report-format.ts'

test('writes one record a line, with empty fields for nulls', () => {
  expect(csvLine(['a', 1, true, null, ''])).toBe('a,1,true,,\r\n')
})

test('quotes what would break a line apart', () => {
  expect(csvLine(['a,b', 'say "so"', 'two\nlines'])).toBe('"a,b","say ""so""","two\nlines"\r\n')
})

test.each(['=1+1', '+1', '-1+1', '@SUM(A1)', '\tx'])('keeps %j from being a formula', (text) => {
  expect(csvLine([text])).toBe(`'${text}\r\n`)
})

test('leaves amounts and times as they are', () => {
  expect(csvLine(['0.000000000001', '-1.25', '2027-01-31T12:00:00.000Z'])).toBe(
    '0.000000000001,-1.25,2027-01-31T12:00:00.000Z\r\n',
  )
})
