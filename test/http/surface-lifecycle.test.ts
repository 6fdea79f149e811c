import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { SURFACES, type Surface } from '../../src/core/api/surfaces/surface-registry.ts'
import { announceLifecycle, surfaceOfRoute } from '../../src/http/public/surfaces.ts'

const known = (id: string): Surface => SURFACES.find((surface) => surface.id === id)!
const lifecycle = { deprecation: '2024-06-30', sunset: '2025-01-01T12:00:00Z' }

test('every response of a surface that goes away says so, also to HEAD and where it is refused', async () => {
  const surfaces = [{ ...known('models'), lifecycle }, known('key')]
  const app = Fastify()
  app.addHook('onRoute', (route) => {
    const surface = surfaceOfRoute(route, surfaces)
    if (surface) announceLifecycle(route, surface)
  })
  await app.register(async (scope) => {
    const refuse = async () => {
      throw new Error('no key')
    }
    scope.get('/v1/models', { onRequest: [refuse] }, async () => ({}))
    scope.get('/v1/key', async () => ({}))
  })
  for (const method of ['GET', 'HEAD'] as const) {
    const { headers, statusCode } = await app.inject({ method, url: '/v1/models' })
    expect(statusCode).toBe(500)
    expect(headers).toMatchObject({ deprecation: '@1719705600', sunset: 'Wed, 01 Jan 2025 12:00:00 GMT' })
    expect((await app.inject({ method, url: '/v1/key' })).headers).not.toHaveProperty('deprecation')
  }
})

test('a route is of the surface of its path, whatever stands in it', () => {
  const found = (method: string, url: string) => surfaceOfRoute({ method, url } as never, SURFACES)?.id
  expect(found('HEAD', '/v1/generations/:id')).toBe('generation')
  expect(found('PATCH', '/v1/provider-keys/:id')).toBe('provider-keys.update')
  expect(found('POST', '/v1beta/models/:model::generateContent')).toBe('generate-content')
  expect(found('PUT', '/v1/provider-keys/:id')).toBeUndefined()
})
