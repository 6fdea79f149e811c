import { expect, test } from 'vitest'
import { csvLine } from '../../src/http/csv.ts'

test('writes one record a line, with empty fields for nulls', () => {
  expect(csvLine(['a', 1, true, null, ''])).toBe('"a",1,true,,""\r\n')
})

test('quotes every text, so that no separator breaks a line apart', () => {
  expect(csvLine(['a,b', 'say "so"', 'two\nlines', 'a;b'])).toBe('"a,b","say ""so""","two\nlines","a;b"\r\n')
})

test.each(['=1+1', '+1', '-1+1', '@SUM(A1)', '＝1+1', '－1', ' =1+1', '"=1+1'])(
  'keeps %j from being a formula',
  (text) => {
    expect(csvLine([text])).toBe(`"'${text.replaceAll('"', '""')}"\r\n`)
  },
)

test.each([
  ['x;=1+1', "x;'=1+1"],
  [`a;=cmd|'/C calc'!A0`, `a;'=cmd|'/C calc'!A0`],
  ['x; ＝1+1', "x;' ＝1+1"],
  ['x;"=1+1"', `x;'""=1+1""`],
  ['x\n=1+1\t@A', "x\n'=1+1\t'@A"],
  ['\t=1+1', "\t'=1+1"],
  ['one;two;three-four', 'one;two;three-four'],
])('keeps a formula after another separator from being one: %j', (text, field) => {
  expect(csvLine([text])).toBe(`"${field}"\r\n`)
})

test('leaves amounts as they are', () => {
  expect(csvLine(['0.000000000001', '-1.25', '2027-01-31T12:00:00.000Z'])).toBe(
    '0.000000000001,-1.25,"2027-01-31T12:00:00.000Z"\r\n',
  )
})
