import { expect, test } from 'vitest'
import { openApiSchema, SchemaBudget, SchemaTooLarge } from '../../../src/core/json/openapi-schema.ts'

const converted = (schema: unknown) => openApiSchema(schema, new SchemaBudget())

test.each<[string, unknown, unknown]>([
  ['nothing is nothing', undefined, null],
  [
    'refused keywords go, known ones stay',
    {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      title: 'T',
      additionalProperties: false,
      properties: { n: { type: 'integer', minimum: 1, exclusiveMaximum: 9, default: 3 } },
      required: ['n'],
    },
    {
      type: 'object',
      title: 'T',
      properties: { n: { type: 'integer', minimum: 1 } },
      required: ['n'],
    },
  ],
  ['null among types is nullable', { type: ['string', 'null'] }, { type: 'string', nullable: true }],
  [
    'several types are alternatives',
    { type: ['string', 'number'] },
    { anyOf: [{ type: 'string' }, { type: 'number' }] },
  ],
  [
    'null among alternatives is nullable',
    { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] },
    { type: 'string', format: 'date-time', nullable: true },
  ],
  [
    'oneOf is anyOf',
    { oneOf: [{ type: 'string', format: 'email' }, { type: 'integer' }] },
    { anyOf: [{ type: 'string' }, { type: 'integer' }] },
  ],
  ['const is an enum of one', { const: 'a' }, { type: 'string', enum: ['a'] }],
  ['enums of numbers are left to their type', { type: 'integer', enum: [1, 2] }, { type: 'integer' }],
  [
    'references are put in their place',
    {
      type: 'object',
      properties: { at: { $ref: '#/$defs/place', description: 'where' } },
      $defs: { place: { type: 'object', properties: { city: { type: 'string' } } } },
    },
    {
      type: 'object',
      properties: {
        at: { type: 'object', description: 'where', properties: { city: { type: 'string' } } },
      },
    },
  ],
  [
    'allOf is merged',
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
        { properties: { b: { type: 'string' } }, required: ['b'] },
      ],
    },
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      required: ['a', 'b'],
    },
  ],
  [
    'a reference to a reference is followed, also round in a circle',
    {
      type: 'object',
      properties: { a: { $ref: '#/$defs/b' }, loop: { $ref: '#/$defs/loop' } },
      $defs: { b: { $ref: '#/$defs/c' }, c: { type: 'string' }, loop: { $ref: '#/$defs/loop' } },
    },
    { type: 'object', properties: { a: { type: 'string' }, loop: {} } },
  ],
  [
    'keywords of the wrong type go',
    { type: 'object', properties: { a: {} }, required: 5, allOf: [{ required: 'a', title: ['b'] }] },
    { type: 'object', properties: { a: {} } },
  ],
  ['an array says what is in it', { type: 'array' }, { type: 'array', items: {} }],
])('%s', (_, schema, expected) => {
  expect(converted(schema)).toEqual(expected)
})

test('a part that contains itself is cut where it does', () => {
  const tree = {
    type: 'object',
    properties: { name: { type: 'string' }, left: { $ref: '#' }, right: { $ref: '#' } },
  }
  const once = { type: 'object', properties: { name: { type: 'string' }, left: {}, right: {} } }
  expect(converted(tree)).toEqual({
    type: 'object',
    properties: { name: { type: 'string' }, left: once, right: once },
  })
})

/** Each multiplies what it says by its references, in another way. */
const multiplied = (of: Record<string, unknown>, references = 1_900) => ({
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: references }, (_, index) => [`r${index}`, { $ref: '#/$defs/b' }]),
  ),
  $defs: { b: of },
})
const many = (count: number) => Array.from({ length: count }, (_, index) => index)
const BOMBS: Record<string, unknown> = {
  'properties that are no schemas': multiplied({
    properties: Object.fromEntries(many(5_000).map((name) => [name, 1])),
  }),
  'entries of enums': multiplied({ enum: many(5_000).map(String) }),
  'required names': multiplied({ properties: { a: {} }, required: many(5_000).map(String) }),
  alternatives: multiplied({ anyOf: many(5_000) }),
  'parts of allOf': multiplied({ allOf: many(5_000) }),
  'long descriptions': multiplied({ description: 'x'.repeat(50_000) }),
  'long names of references': {
    properties: Object.fromEntries(
      many(1_900).map((name) => [`r${name}`, { $ref: `#/$defs/${'x'.repeat(50_000)}` }]),
    ),
  },
  'two references in each of 40 levels': {
    properties: { top: { $ref: '#/$defs/level0' } },
    $defs: Object.fromEntries(
      many(40).map((level) => {
        const next = { $ref: `#/$defs/level${level + 1}` }
        return [`level${level}`, { type: 'object', properties: { a: next, b: next } }]
      }),
    ),
  },
  'a chain of references without end': {
    properties: { top: { $ref: '#/$defs/level0' } },
    $defs: Object.fromEntries(
      many(9_000).map((level) => [`level${level}`, { $ref: `#/$defs/level${level + 1}` }]),
    ),
  },
}

test.each(Object.entries(BOMBS))('%s: what references multiply is refused', (_, schema) => {
  expect(() => converted(schema)).toThrow(SchemaTooLarge)
})

test('keywords that mean nothing to the wire cost nothing, however often they are referred to', () => {
  const ignored = Object.fromEntries(many(5_000).map((name) => [`x${name}`, 1]))
  const schema = converted(multiplied({ type: 'string', ...ignored })) as { properties: { r7: object } }
  expect(schema.properties.r7).toEqual({ type: 'string' })
})

test('objects in the place of numbers are left out', () => {
  expect(converted({ type: 'string', minLength: { a: 1 }, title: 't' })).toEqual({
    type: 'string',
    title: 't',
  })
})

test('many parts of allOf are merged in time that grows with their number', () => {
  const parts = many(2_000).map((name) => ({ properties: { [name]: {} }, required: [String(name)] }))
  const merged = converted({ allOf: parts }) as { properties: object; required: string[] }
  expect(Object.keys(merged.properties)).toHaveLength(2_000)
  expect(merged.required).toHaveLength(2_000)
})

test('an enum has no empty text, and a required name is one of the properties', () => {
  const schema = {
    type: 'object',
    properties: { a: { enum: ['', 'x'] }, b: { type: 'string', enum: [''] } },
    required: ['a', 'gone'],
  }
  expect(converted(schema)).toEqual({
    type: 'object',
    properties: { a: { type: 'string', enum: ['x'] }, b: { type: 'string' } },
    required: ['a'],
  })
  expect(converted({ type: 'object', properties: { a: {} }, required: ['gone'] })).not.toHaveProperty(
    'required',
  )
})
