import { expect, test } from 'vitest'
import { type OpenApi, operationsOf } from '../../web/lib/openapi-view.ts'

const document: OpenApi = {
  components: {
    schemas: { Node: { type: 'object', properties: { next: { $ref: '#/components/schemas/Node' } } } },
  },
  paths: {
    '/v1/things/{id}': {
      post: {
        operationId: 'things',
        tags: ['Gateway'],
        summary: 'A thing',
        'x-status': 'Limited',
        'x-codeSamples': [{ label: 'curl', source: 'curl …' }],
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string', minLength: 1 } }],
        requestBody: {
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['name'],
                properties: {
                  name: { type: 'string', minLength: 1, maxLength: 9 },
                  kind: { enum: ['a', 'b'], default: 'a' },
                  parts: {
                    anyOf: [
                      { type: 'null' },
                      { type: 'array', items: { type: 'object', properties: { at: { type: 'integer' } } } },
                    ],
                  },
                },
              },
            },
          },
        },
        responses: {
          200: {
            description: 'Default Response',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Node' } } },
          },
          default: { description: 'The error' },
        },
      },
    },
  },
}

test('an operation is shown with its fields, their types in words and their bounds', () => {
  const [operation] = operationsOf(document)
  expect(operation).toMatchObject({
    id: 'things',
    method: 'POST',
    path: '/v1/things/{id}',
    tag: 'Gateway',
    status: 'Limited',
    deprecated: false,
    samples: [{ label: 'curl' }],
    parameters: [
      { name: 'id', type: 'string', required: true, notes: ['in the path', 'at least 1 characters'] },
    ],
  })
  expect(operation!.bodies).toEqual([
    {
      mediaType: 'application/json',
      type: 'object',
      fields: [
        { name: 'name', type: 'string', required: true, notes: ['1 to 9 characters'], fields: [] },
        { name: 'kind', type: '"a" or "b"', required: false, notes: ['default "a"'], fields: [] },
        {
          name: 'parts',
          type: 'null or array of object',
          required: false,
          notes: [],
          fields: [{ name: 'at', type: 'integer', required: false, notes: [], fields: [] }],
        },
      ],
    },
  ])
})

test('a schema that contains itself ends, and an answer without a body has no fields', () => {
  const [{ responses } = { responses: [] }] = operationsOf(document)
  expect(responses.map(({ status, description, mediaType }) => [status, description, mediaType])).toEqual([
    ['200', '', 'application/json'],
    ['default', 'The error', null],
  ])
  expect(JSON.stringify(responses[0]!.fields).match(/next/g)!.length).toBeLessThan(10)
})
