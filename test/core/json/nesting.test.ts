import { describe, expect, test } from 'vitest'
import { isNestedDeeperThan } from '../../../src/core/json/nesting.ts'

describe('nesting', () => {
  test('is exact at its limit', () => {
    expect(isNestedDeeperThan({ a: [{}] }, 3)).toBe(false)
    expect(isNestedDeeperThan({ a: [{}] }, 2)).toBe(true)
    expect(isNestedDeeperThan('text', 0)).toBe(false)
  })

  test('of a value beyond any stack is found without overflowing it', () => {
    const json = '['.repeat(200_000) + ']'.repeat(200_000)
    expect(isNestedDeeperThan(JSON.parse(json), 256)).toBe(true)
  })
})
