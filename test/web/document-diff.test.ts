import { describe, expect, test } from 'vitest'
import { documentDiff } from '../../web/lib/document-diff.ts'

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`).join('\n')

describe('the comparison of two documents', () => {
  test('is empty where nothing is different', () => {
    expect(documentDiff('{}', '{}')).toEqual([])
  })

  test('names lines that came and went, with three around them and the rest as a gap', () => {
    const before = `${lines(1, 10)}\nold\n${lines(11, 20)}`
    const after = `${lines(1, 10)}\nnew\n${lines(11, 20)}`
    expect(documentDiff(before, after).map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      'gap … 7 lines unchanged',
      'same line 8',
      'same line 9',
      'same line 10',
      'removed old',
      'added new',
      'same line 11',
      'same line 12',
      'same line 13',
      'gap … 7 lines unchanged',
    ])
  })

  test('keeps every changed line, also the last', () => {
    expect(documentDiff('{}', '{\n  "dated": "2027-01-31"\n}').map(({ kind }) => kind)).toEqual([
      'removed',
      'added',
      'added',
      'added',
    ])
  })
})
