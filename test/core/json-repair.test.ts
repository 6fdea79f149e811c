import { describe, expect, test } from 'vitest'
import { repairJson, wantsJson } from '../../src/core/json-repair.ts'

describe('repairJson', () => {
  test.each([
    ['{"a":1,}', { a: 1 }],
    ["{'a': 'b'}", { a: 'b' }],
    ['```json\n{"a": 1}\n```', { a: 1 }],
    ['{"a": [1, 2', { a: [1, 2] }],
  ])('%j becomes valid', (content, value) => {
    expect(JSON.parse(repairJson(content))).toEqual(value)
  })

  test.each(['{"a": 1}', ' [1, 2]\n', '"text"', 'I cannot do that.', '', '}{'])(
    '%j stays as it is',
    (content) => {
      expect(repairJson(content)).toBe(content)
    },
  )
})

test('wantsJson knows both JSON formats', () => {
  expect(wantsJson({ type: 'json_object' })).toBe(true)
  expect(wantsJson({ type: 'json_schema' })).toBe(true)
  expect(wantsJson({ type: 'text' })).toBe(false)
  expect(wantsJson(undefined)).toBe(false)
})
