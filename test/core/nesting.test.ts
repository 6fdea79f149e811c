import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isJsonNestedDeeperThan, isNestedDeeperThan } from '../../src/core/nesting.ts'

describe('nesting', () => {
  it('is counted alike in a value and in its JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat({ max: 7 }), (value, depth) => {
        const json = JSON.stringify(value)
        expect(isJsonNestedDeeperThan(json, depth)).toBe(isNestedDeeperThan(value, depth))
      }),
    )
  })

  it('is exact at its limit', () => {
    expect(isNestedDeeperThan({ a: [{}] }, 3)).toBe(false)
    expect(isNestedDeeperThan({ a: [{}] }, 2)).toBe(true)
    expect(isNestedDeeperThan('text', 0)).toBe(false)
  })

  it('does not count brackets in strings, whatever is escaped there', () => {
    expect(isJsonNestedDeeperThan(String.raw`["[[[[\"[[[\\", "\\\"{{{{"]`, 1)).toBe(false)
    expect(isJsonNestedDeeperThan(String.raw`["\\", [[]]]`, 2)).toBe(true)
  })

  it('of a value or text beyond any stack is found without overflowing it', () => {
    const json = '['.repeat(200_000) + ']'.repeat(200_000)
    expect(isJsonNestedDeeperThan(json, 256)).toBe(true)
    expect(isNestedDeeperThan(JSON.parse(json), 256)).toBe(true)
    expect(isJsonNestedDeeperThan('"'.repeat(9), 0)).toBe(false)
  })
})
