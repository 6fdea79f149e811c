import { describe, expect, test } from 'vitest'
import { SHIPPED_MODEL, scorePrompt } from '../../../../src/core/auto/difficulty/score-turns.ts'
import { EVERYDAY_PAIRS } from './everyday-pairs.ts'

const LEAST_RIGHT = 0.85

describe('prompts of everyday traffic', () => {
  const scored = EVERYDAY_PAIRS.map(([easy, hard]) => ({
    easy: scorePrompt(easy, SHIPPED_MODEL),
    hard: scorePrompt(hard, SHIPPED_MODEL),
  }))

  test('are ordered as an engineer would, in at least 85% of the pairs', () => {
    const wrong = EVERYDAY_PAIRS.filter((_, index) => scored[index]!.hard <= scored[index]!.easy)
    expect(EVERYDAY_PAIRS.length).toBe(30)
    expect(wrong.length, JSON.stringify(wrong)).toBeLessThanOrEqual((1 - LEAST_RIGHT) * EVERYDAY_PAIRS.length)
  })

  test('are ordered so across the pairs too: 85% of all hard ones above an easy one', () => {
    const above = scored.flatMap(({ hard }) => scored.map(({ easy }) => (hard > easy ? 1 : 0) as number))
    expect(above.reduce((sum, one) => sum + one, 0) / above.length).toBeGreaterThanOrEqual(LEAST_RIGHT)
  })
})
