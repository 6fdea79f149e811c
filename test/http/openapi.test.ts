import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SURFACES } from '../../src/core/api/surface-registry.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'

type OpenApi = {
  openapi: string
  paths: Record<string, Record<string, { parameters?: Array<{ name: string; required?: boolean }> }>>
}

let stack: TestStack
let document: OpenApi

beforeAll(async () => {
  stack = await startStack({ models: { 'test/plain': [{ at: 'alpha', model: 'words-12' }] } })
  const response = await fetch(`${stack.url}/openapi.json`)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  document = (await response.json()) as OpenApi
})
afterAll(() => stack?.close())

test('the document is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined })
  expect(document.openapi).toBe('3.1.0')
})

test('the document names every surface that is served, and none that is not', () => {
  for (const { method, path, access } of SURFACES) {
    const operation = document.paths[path]?.[method.toLowerCase()]
    if (access === 'closed') expect(operation, `${method} ${path}`).toBeUndefined()
    if (access === 'open') expect(operation, `${method} ${path}`).toBeDefined()
  }
})

test('the document carries schemas and no wording of errors', () => {
  const limit = document.paths['/v1/usage/calls']!.get!.parameters!.find(({ name }) => name === 'limit')
  expect(limit).toMatchObject({ required: false, schema: { type: 'integer', minimum: 1, maximum: 1_000 } })
  expect(document.paths['/v1/chat/completions']!.post).toHaveProperty('requestBody')
  expect(JSON.stringify(document)).not.toContain('errorMessage')
})
