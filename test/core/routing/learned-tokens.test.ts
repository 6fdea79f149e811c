import { expect, test } from 'vitest'
import {
  formatLearned,
  LEARNED_TOKENS_MAX,
  learnedFrom,
  parseLearned,
} from '../../../src/core/routing/learned-tokens.ts'

test.each([
  ['a preamble before a short prompt', 690, 9, 92, 704],
  ['a preamble before a long prompt, whose bound leaves room for a part of it', 5_800, 5_100, 5_700, 704],
  ['a count of ours that is too high', 110, 300, 100, 64],
  ['the most that is learned', 4_101, 5, 100, LEARNED_TOKENS_MAX],
])('of %s, a report teaches what later calls must hold', (_, reported, counted, bound, learned) => {
  expect(learnedFrom(reported, counted, bound)).toBe(learned)
})

test('a report within the bound, or too far beyond it to be held by every call, teaches nothing', () => {
  expect(learnedFrom(90, 90, 100)).toBeNull()
  expect(learnedFrom(4_102, 5, 100)).toBeNull()
})

test('learned tokens are stored as text and bounded on reading', () => {
  const learned = { tokens: 704, untilMs: 1_700_000_000_000 }
  expect(parseLearned(formatLearned(learned))).toEqual(learned)
  expect(parseLearned('99999:1')).toEqual({ tokens: LEARNED_TOKENS_MAX, untilMs: 1 })
  for (const text of ['', '704', '-1:5', '1e9:5', '7:5:3']) expect(parseLearned(text)).toBeNull()
})
