import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type JsonLimits, scanJson } from '../../../src/core/json/json-scan.ts'
import { isNestedDeeperThan } from '../../../src/core/json/nesting.ts'

const scan = (json: string, limits: Partial<JsonLimits>) =>
  scanJson(Buffer.from(json), {
    depth: Number.POSITIVE_INFINITY,
    values: Number.POSITIVE_INFINITY,
    ...limits,
  })

describe('a scan of JSON', () => {
  test('finds the nesting that its value has', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat({ max: 7 }), (value, depth) => {
        const isTooDeep = scan(JSON.stringify(value), { depth }) === 'too-deep'
        expect(isTooDeep).toBe(isNestedDeeperThan(value, depth))
      }),
    )
  })

  test('counts names, entries, arrays and objects', () => {
    const json = '{"a":[1,2,3],"b":{}}'
    expect(scan(json, { values: 8 })).toBe('ok')
    expect(scan(json, { values: 7 })).toBe('too-many-values')
    expect(scan('7', { values: 0 })).toBe('ok')
  })

  test('counts nothing in strings, whatever is escaped there', () => {
    expect(scan(String.raw`["[[[[\"[[[\\", "\\\"{{{{"]`, { depth: 1 })).toBe('ok')
    expect(scan(String.raw`["\\", [[]]]`, { depth: 2 })).toBe('too-deep')
    const text = JSON.stringify([`${'"'.repeat(3_000)}\\${','.repeat(3_000)}é漢"`, []])
    expect(scan(text, { values: 3 })).toBe('ok')
    expect(scan(text, { values: 2 })).toBe('too-many-values')
  })

  test('reads strings of any content to their end', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('"', '\\', 'a', 'é', ',', '[', 'x'.repeat(300)) }),
        (text) => {
          const json = JSON.stringify([text, []])
          expect(scan(json, { values: 3 })).toBe('ok')
          expect(scan(json, { values: 2 })).toBe('too-many-values')
        },
      ),
    )
  })

  test('ends with the bytes where a string does not', () => {
    for (const json of ['"', '"\\', '"\\"', `"${'\\"'.repeat(200)}`, '"'.repeat(9)]) {
      expect(scan(json, { depth: 0 })).toBe('ok')
    }
  })
})
