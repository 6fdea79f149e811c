import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { codeSamples } from '../../src/core/api/code-samples.ts'
import { SURFACES } from '../../src/core/api/surface-registry.ts'
import { PublishedSurface, type PublishedSurfaceList } from '../../src/core/api/surfaces.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'
import { rawExchange } from './wire.ts'

type OpenApi = {
  openapi: string
  paths: Record<string, Record<string, { parameters?: Array<{ name: string; required?: boolean }> }>>
}

interface DescribedOperation {
  'x-status': string
  'x-codeSamples': Array<{ lang: string; source: string }>
  responses: Record<number, { content: object }>
}

const AsyncFunction = (async () => undefined).constructor as new (...source: string[]) => unknown

let stack: TestStack
let document: OpenApi

beforeAll(async () => {
  stack = await startStack({ models: { 'test/plain': [{ at: 'alpha', model: 'words-12' }] } })
  const response = await fetch(`${stack.url}/openapi.json`)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  document = (await response.json()) as OpenApi
})
afterAll(() => {
  delete process.env.SWITCHYARD_API_KEY
  return stack?.close()
})

test('the document is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined })
  expect(document.openapi).toBe('3.1.0')
})

test('the document names every surface that is served, and none that is not', () => {
  for (const { method, path, access } of SURFACES) {
    const operation = document.paths[path]?.[method.toLowerCase()]
    expect(operation !== undefined, `${method} ${path}`).toBe(access !== 'closed')
  }
})

test('each surface is described with its status and with examples for the address that was asked', async () => {
  const chat = document.paths['/v1/chat/completions']!.post as unknown as DescribedOperation
  expect(chat).toMatchObject({ operationId: 'chat-completions', description: expect.any(String) })
  expect(['Stable', 'Limited']).toContain(chat['x-status'])
  expect(Object.keys(chat.responses[200]!.content)).toEqual(['application/json', 'text/event-stream'])
  for (const { method, path, status, access } of SURFACES.filter((surface) => surface.access === 'open')) {
    const operation = document.paths[path]![method.toLowerCase()] as unknown as DescribedOperation
    if (status !== 'Stable') expect(operation['x-status'], `${path} ${access}`).toBe(status)
    expect(operation['x-codeSamples'].map(({ lang }) => lang)).toEqual(['Shell', 'Python', 'JavaScript'])
    for (const { source } of operation['x-codeSamples']) expect(source).toContain(stack.url)
  }
  expect(document).toMatchObject({ servers: [{ url: stack.url }] })
  const elsewhere = await rawExchange(
    stack.url,
    'GET /openapi.json HTTP/1.1\r\nhost: gateway.example\r\nconnection: close\r\n\r\n',
  )
  expect(elsewhere).toContain('curl http://gateway.example/v1/models'.replace('curl ', "curl '"))
  const strange = await rawExchange(
    stack.url,
    'GET /openapi.json HTTP/1.1\r\nhost: a"b\r\nconnection: close\r\n\r\n',
  )
  expect(strange).not.toContain('a"b')
})

test('what the samples in JavaScript ask for is answered', async () => {
  const { key } = await stack.account('1.00')
  process.env.SWITCHYARD_API_KEY = key
  for (const id of ['models', 'key', 'usage', 'surfaces', 'pricing', 'surfaces.public']) {
    const surface = SURFACES.find((known) => known.id === id)!
    const { source } = codeSamples(surface, stack.url).find(({ lang }) => lang === 'JavaScript')!
    const run = new AsyncFunction('console', source) as (console: unknown) => Promise<void>
    const lines: string[] = []
    await run({ log: (line: string) => lines.push(line) })
    expect(JSON.parse(lines[0]!), id).toBeTypeOf('object')
  }
})

test('every surface and its status are public, and to whom one was opened is not', async () => {
  const response = await fetch(`${stack.url}/surfaces.json`)
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  const { data } = (await response.json()) as PublishedSurfaceList
  expect(data.map(({ path }) => path)).toEqual(SURFACES.map(({ path }) => path))
  for (const surface of data) expect(Object.keys(surface)).toEqual(Object.keys(PublishedSurface.properties))
})

test('the document carries schemas and no wording of errors', () => {
  const limit = document.paths['/v1/usage/calls']!.get!.parameters!.find(({ name }) => name === 'limit')
  expect(limit).toMatchObject({ required: false, schema: { type: 'integer', minimum: 1, maximum: 1_000 } })
  expect(document.paths['/v1/chat/completions']!.post).toHaveProperty('requestBody')
  expect(JSON.stringify(document)).not.toContain('errorMessage')
})
