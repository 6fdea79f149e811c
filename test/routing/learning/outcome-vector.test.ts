import { expect, test } from 'vitest'
import { SHIPPED_MODEL, scorePrompt } from '../../../src/core/auto/difficulty/score-turns.ts'
import { decodeVector, outcomeVector, promptVector } from '../../../src/routing/learning/outcome-vector.ts'

const messages = [{ role: 'user' as const, content: 'Prove that the series of 1/n^2 converges.' }]

test('a stored vector has the shipped score, the features and the meaning of the prompt, as numbers only', () => {
  const stored = outcomeVector(messages)
  const read = decodeVector(stored)!
  const vector = promptVector(messages)
  const score = 1 / (1 + Math.exp(-1.702 * read.shipped))
  expect(score).toBeCloseTo(scorePrompt(messages[0]!.content, SHIPPED_MODEL), 4)
  for (const [at, value] of vector.features.entries()) expect(read.features[at]).toBeCloseTo(value, 4)
  for (const [at, value] of vector.meaning.entries()) expect(read.meaning[at]).toBeCloseTo(value, 4)
  expect(read.meaning.some((value) => value !== 0)).toBe(true)
  expect(stored.length).toBeLessThan(600)
  expect(decodeVector(stored.subarray(4))).toBeNull()
})
