import { expect, test } from 'vitest'
import { openApiSchema } from '../../workers/providers/google-generate-content/openapi-schema.ts'

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
  expect(openApiSchema(schema)).toEqual(expected)
})

test('a part that contains itself is cut where it does', () => {
  const tree = {
    type: 'object',
    properties: { name: { type: 'string' }, left: { $ref: '#' }, right: { $ref: '#' } },
  }
  const once = { type: 'object', properties: { name: { type: 'string' }, left: {}, right: {} } }
  expect(openApiSchema(tree)).toEqual({
    type: 'object',
    properties: { name: { type: 'string' }, left: once, right: once },
  })
})

test('references that multiply are bounded', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, level) => {
      const next = { $ref: `#/$defs/level${level + 1}` }
      return [`level${level}`, { type: 'object', properties: { a: next, b: next } }]
    }),
  )
  const schema = openApiSchema({ type: 'object', properties: { top: { $ref: '#/$defs/level0' } }, $defs })
  expect(JSON.stringify(schema).length).toBeLessThan(200_000)
})
