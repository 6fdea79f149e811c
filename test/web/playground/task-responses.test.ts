import { expect, test } from 'vitest'
import { categoriesOf, cosine, linesOf } from '../../../web/lib/playground/task-responses.ts'

test('vectors are compared by their direction', () => {
  expect(cosine([1, 2], [2, 4])).toBeCloseTo(1)
  expect(cosine([1, 0], [0, 3])).toBe(0)
  expect(cosine([0, 0], [1, 1])).toBe(0)
})

test('texts are lines, without empty ones', () => {
  expect(linesOf(' one \n\n  \ntwo')).toEqual(['one', 'two'])
})

test('categories of a moderation come by their scores, and say which are flagged', () => {
  const result = { flagged: true, categories: { a: false, b: true }, category_scores: { a: 0.1, b: 0.9 } }
  expect(categoriesOf(result)).toEqual([
    { name: 'b', score: 0.9, isFlagged: true },
    { name: 'a', score: 0.1, isFlagged: false },
  ])
})
