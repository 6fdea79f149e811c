import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema'
import { expect, test } from 'vitest'
import { lacksStructuredOutput, structuredOutput } from '../../src/providers/structured-output.ts'

const MODEL = 'claude-sonnet-5'
const formatOf = (schema: unknown, model = MODEL) =>
  structuredOutput({ type: 'json_schema', json_schema: { name: 'x', schema } }, model)

/** Definitions of which each refers to the next as often as `times`. */
const chain = (length: number, times: number) =>
  Object.fromEntries(
    Array.from({ length }, (_, i) => [`d${i}`, { anyOf: Array(times).fill({ $ref: `#/$defs/d${i + 1}` }) }]),
  )
const tree = () => ({ $ref: '#/$defs/d0', $defs: { ...chain(1, 2), d1: { items: { $ref: '#/$defs/d0' } } } })

const ORDER = {
  type: 'object',
  description: 'An order.',
  properties: {
    id: { type: 'string', format: 'uuid' },
    code: { type: 'string', pattern: '^[A-Z]+$', description: 'Letters.' },
    count: { type: 'integer', minimum: 1, maximum: 9 },
    state: { enum: ['open', 'closed'] },
    lines: { type: 'array', minItems: 1, items: { $ref: '#/$defs/line' } },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    tags: { type: 'array', minItems: 2, items: { type: 'string', format: 'slug' } },
  },
  required: ['id', 'lines'],
  additionalProperties: false,
  $defs: { line: { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] } },
}

test('a schema is sent as the official client library would send it', () => {
  const given = structuredClone(ORDER)
  expect(formatOf(given)).toEqual({ type: 'json_schema', schema: transformJSONSchema(ORDER as never) })
  expect(given).toEqual(ORDER)
})

test('a schema of several types is a choice of them, each with its own constraints', () => {
  const schema = {
    type: ['object', 'null'],
    description: 'A place.',
    properties: { town: { type: 'string' } },
  }
  expect(formatOf(schema)).toEqual({
    type: 'json_schema',
    schema: {
      description: 'A place.',
      anyOf: [
        { type: 'object', properties: { town: { type: 'string' } }, additionalProperties: false },
        { type: 'null' },
      ],
    },
  })
})

test('definitions that refer to each other are visited once, however many paths lead to them', () => {
  const definitions = { ...chain(9_000, 2), d9000: { type: 'string' } }
  const schema = { anyOf: [{ $ref: '#/$defs/d0' }], $defs: definitions }
  expect(formatOf(schema)).toEqual({ type: 'json_schema', schema })
})

test('a type that is named again is no further choice, at any depth', () => {
  const nested = Array.from({ length: 40 }).reduce<object>(
    (below) => ({ type: ['object', 'object'], properties: { a: below } }),
    { type: 'string' },
  )
  expect(JSON.stringify(formatOf(nested)).length).toBeLessThan(10_000)
})

test.each([
  ['a map', { type: 'object', additionalProperties: { type: 'string' } }],
  ['an open object', { ...ORDER, additionalProperties: true }],
  ['an object without properties', { type: 'object' }],
  ['a map in a list', { type: 'array', items: { type: 'object' } }],
  ['a map among definitions', { ...ORDER, $defs: { line: { type: 'object' } } }],
  ['a map as a choice', { anyOf: [{ type: 'null' }, { type: 'object' }] }],
  ['a schema of any value', { type: 'object', properties: { any: true } }],
  ['a tree', { ...ORDER, $defs: { line: { type: 'array', items: { $ref: '#/$defs/line' } } } }],
  ['a schema within itself', { type: 'object', properties: { next: { $ref: '#' } } }],
  ['a tree of two definitions', tree()],
  ['a type that is none', { type: ['string', 'text'] }],
  ['a choice within several types', { type: ['object', 'null'], anyOf: [{ required: ['a'] }] }],
  ['no schema', undefined],
])('%s is not sent as structured output', (_what, schema) => {
  expect(formatOf(schema)).toBeNull()
})

test.each([
  ['claude-3-5-sonnet-20241022', true],
  ['anthropic/claude-4-opus', true],
  ['claude-opus-4-20250514', true],
  ['anthropic/claude-opus-4.1', true],
  ['us.anthropic.claude-sonnet-4-20250514-v1:0', true],
  ['claude-opus-4-1@20250805', true],
  ['eu.anthropic.claude-sonnet-4-5-20250929-v1:0', false],
  ['claude-haiku-4-5@20251001', false],
  ['anthropic.claude-opus-4-6-v1', false],
  ['claude-opus-4-5', false],
  ['claude-haiku-4-5-20251001', false],
  ['anthropic/claude-opus-4.7-fast', false],
  ['claude-mythos-5-1', false],
])('%s is before structured output: %s', (model, isBefore) => {
  expect(lacksStructuredOutput(model)).toBe(isBefore)
  expect(formatOf(ORDER, model) === null).toBe(isBefore)
})
