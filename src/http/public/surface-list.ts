import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { jsonView } from '../../core/api/json-view.ts'
import { publishedStatus, SURFACE_EVIDENCE } from '../../core/api/surfaces/surface-evidence.ts'
import { mayUse, SURFACES, type Surface, type SurfaceId } from '../../core/api/surfaces/surface-registry.ts'
import { PublishedSurface, PublishedSurfaceList, SurfaceList } from '../../core/api/surfaces/surfaces.ts'
import { isoTimeOrNull } from '../../core/kernel/time.ts'

/** Digests of the contracts of the surfaces that have a route. */
export type SurfaceContracts = ReadonlyMap<SurfaceId, string>

declare module 'fastify' {
  interface FastifyInstance {
    surfaceContracts: SurfaceContracts
  }
}

/** GET /v1/surfaces: every surface, and which of them the calling key may use. */
export const surfacesRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const contracts = app.surfaceContracts
    const schema = { summary: 'Every surface and its status', response: { 200: SurfaceList } }
    app.get(path, { onRequest: [app.requireKey], schema }, async ({ key }) => ({
      object: 'list' as const,
      data: SURFACES.map((surface) => ({
        ...publishedSurface(surface, contracts),
        available: contracts.has(surface.id) && mayUse(surface, key?.surfaces ?? []),
      })),
    }))
  }

/** GET /surfaces.json: every surface and its status, for everyone. */
export const publicSurfacesRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const contracts = app.surfaceContracts
    const schema = {
      summary: 'Every surface and its status, for everyone',
      response: { 200: PublishedSurfaceList },
    }
    app.get(path, { schema }, async (_request, reply) => {
      reply.headers({ 'cache-control': 'public, max-age=60', 'access-control-allow-origin': '*' })
      return {
        object: 'list' as const,
        data: SURFACES.map((surface) => publishedSurface(surface, contracts)),
      }
    })
  }

/** A surface without its grants. */
export function publishedSurface(surface: Surface, contracts: SurfaceContracts): PublishedSurface {
  const { id, method, path, status, lifecycle } = surface
  const evidence = SURFACE_EVIDENCE[id] ?? null
  const contract = contracts.get(id) ?? null
  const pointer = `/openapi.json#/paths/${path.replaceAll('/', '~1')}/${method.toLowerCase()}`
  return jsonView(PublishedSurface, {
    ...surface,
    object: 'surface' as const,
    status: publishedStatus(status, evidence, contract),
    schema: contract === null ? null : pointer,
    contract,
    deprecation: isoTimeOrNull(lifecycle.deprecation ? Date.parse(lifecycle.deprecation) : null),
    sunset: isoTimeOrNull(lifecycle.sunset ? Date.parse(lifecycle.sunset) : null),
    evidence: evidence && { date: evidence.date, commit: evidence.commit, passed: evidence.passed },
  })
}
