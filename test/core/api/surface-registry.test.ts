import { expect, test } from 'vitest'
import { contractDigest, publishedStatus } from '../../../src/core/api/surfaces/surface-evidence.ts'
import { lifecycleHeaders, mayUse, SURFACES } from '../../../src/core/api/surfaces/surface-registry.ts'

test('every operation is one surface, and what needs no key is open', () => {
  const operations = SURFACES.map(({ method, path }) => `${method} ${path}`)
  expect(new Set(operations).size).toBe(operations.length)
  for (const { path, status, access } of SURFACES) {
    if (status === 'Public') expect(access).toBe('open')
    else expect(path).toMatch(/^\/v\d/)
  }
})

test('a granted surface takes a grant, and a closed one does not', () => {
  const surface = { id: 'embeddings' } as const
  expect(mayUse({ ...surface, access: 'open' }, [])).toBe(true)
  expect(mayUse({ ...surface, access: 'granted' }, ['rerank'])).toBe(false)
  expect(mayUse({ ...surface, access: 'granted' }, ['embeddings'])).toBe(true)
  expect(mayUse({ ...surface, access: 'closed' }, ['embeddings'])).toBe(false)
})

test('a surface that goes away says so as RFC 9745 and RFC 8594 have it', () => {
  expect(lifecycleHeaders({})).toEqual({})
  expect(lifecycleHeaders({ deprecation: '2024-06-30', sunset: '2025-01-01T12:00:00Z' })).toEqual({
    deprecation: '@1719705600',
    sunset: 'Wed, 01 Jan 2025 12:00:00 GMT',
  })
})

test('a surface is stable only with passing evidence for its present contract', () => {
  const route = { method: 'POST', path: '/v1/x' } as const
  const contract = contractDigest(route, { body: { type: 'object' } })
  const evidence = { date: '2027-01-01T00:00:00Z', commit: 'abc', passed: true, contract, checks: {} }
  expect(publishedStatus('Stable', evidence, contract)).toBe('Stable')
  expect(publishedStatus('Stable', null, contract)).toBe('Limited')
  expect(publishedStatus('Stable', { ...evidence, passed: false }, contract)).toBe('Limited')
  const changed = contractDigest(route, { body: { type: 'array' } })
  expect(publishedStatus('Stable', evidence, changed)).toBe('Limited')
  const reworded = contractDigest(route, { body: { type: 'object', description: 'Words.' } })
  expect(reworded).toBe(contract)
  expect(publishedStatus('Not release-ready', evidence, contract)).toBe('Not release-ready')
})
