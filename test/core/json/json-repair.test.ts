import { describe, expect, test } from 'vitest'
import type { JsonRoot } from '../../../src/core/json/json-repair.ts'
import { jsonRootOf, mayBeRepaired, repairJson, wantsJson } from '../../../src/core/json/json-repair.ts'

const repair = (content: string, root: JsonRoot = 'either') => repairJson({ content, root })

describe('repairJson', () => {
  test.each([
    ['{"a":1,}', { a: 1 }],
    ["{'a': 'b'}", { a: 'b' }],
    ['{a: 1}', { a: 1 }],
    ['```json\n{"a": 1}\n```', { a: 1 }],
    ['{"a": [1, 2', { a: [1, 2] }],
    ['{"a": [1, 2}', { a: [1, 2] }],
    ['[{"a":1},{"a":2', [{ a: 1 }, { a: 2 }]],
  ])('%j becomes valid', (content, value) => {
    expect(JSON.parse(repair(content))).toEqual(value)
  })

  test.each([
    ['Here is the JSON: {"a": 1} Hope it helps!', { a: 1 }],
    ['Sure, here: {"a":1}\n\nLet me know.', { a: 1 }],
    ['Here you go:\n```json\n{"a": 1}\n```\nAnything else?', { a: 1 }],
    ['Here you go:\n```json\n{"a": [1, 2\n```\nAnything else?', { a: [1, 2] }],
    ['Here you go:\n```json\n{"a": 1,}\n```\nAnything else?', { a: 1 }],
    ['I used {braces} and [brackets], see [1]: {"a": "}", "b": [2]}', { a: '}', b: [2] }],
    ['Text {"a": {"b": [1, 2}}\nHope it helps.', { a: { b: [1, 2] } }],
    ['{"items": [{"x":1},{"x":2}\n\nHope that helps.', { items: [{ x: 1 }, { x: 2 }] }],
    ['{"code": "```js\\nlet a = {}\\n```"} is it.', { code: '```js\nlet a = {}\n```' }],
    ["It's {'a': 'b'} then.", { a: 'b' }],
  ])('takes the value out of %j', (content, value) => {
    expect(JSON.parse(repair(content))).toEqual(value)
    expect(JSON.parse(repair(content, 'object'))).toEqual(value)
  })

  test('gives what was asked for: an object, an array, or the longer of them', () => {
    const content = 'From [1, 2, 3, 4, 5, 6] I made {"a": 1}.'
    expect(repair(content, 'object')).toBe('{"a": 1}')
    expect(repair(content, 'array')).toBe('[1, 2, 3, 4, 5, 6]')
    expect(repair(content, 'either')).toBe('[1, 2, 3, 4, 5, 6]')
    expect(repair('[1, 2', 'object')).toBe('[1, 2')
  })

  test.each([
    '"text"',
    'I cannot do that.',
    'Sure, here: nothing [at all] {really}.',
    '',
    '}{',
    '{',
    'a: 1, b: 2',
  ])('%j stays as it is', (content) => {
    expect(repair(content)).toBe(content)
  })
})

test('only what is no JSON, and at most 32 kB, may be repaired', () => {
  expect(mayBeRepaired('{"a":1,}')).toBe(true)
  expect(mayBeRepaired('{"a":1}')).toBe(false)
  expect(mayBeRepaired('null')).toBe(false)
  expect(mayBeRepaired('['.repeat(32_768))).toBe(true)
  expect(mayBeRepaired('['.repeat(32_769))).toBe(false)
})

test('wantsJson knows both JSON formats, and jsonRootOf what they ask for', () => {
  expect(wantsJson({ type: 'json_object' })).toBe(true)
  expect(wantsJson({ type: 'json_schema' })).toBe(true)
  expect(wantsJson({ type: 'text' })).toBe(false)
  expect(wantsJson(undefined)).toBe(false)
  const bySchema = (schema: unknown) =>
    jsonRootOf({ type: 'json_schema', json_schema: { name: 'x', schema } })
  expect(jsonRootOf({ type: 'json_object' })).toBe('object')
  expect(['object', 'array', ['object', 'null'], 'string'].map((type) => bySchema({ type }))).toEqual([
    'object',
    'array',
    'either',
    'either',
  ])
  expect(bySchema(true)).toBe('either')
})
