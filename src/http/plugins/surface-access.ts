import type { onRequestHookHandler } from 'fastify'
import plugin from 'fastify-plugin'
import { surfaceClosed } from '../../core/api/surfaces/surface-refusals.ts'
import {
  lifecycleHeaders,
  mayUse,
  SURFACES,
  type SurfaceId,
} from '../../core/api/surfaces/surface-registry.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** An onRequest hook directly after `requireKey`: 404 unless the key may use this surface. */
    requireSurface(id: SurfaceId): onRequestHookHandler
  }
}

/** Access to surfaces; the grants are part of the key, so nothing is looked up. */
export const surfaceAccess = plugin(
  async (app) => {
    app.decorate('requireSurface', (id: SurfaceId): onRequestHookHandler => {
      const surface = SURFACES.find((known) => known.id === id)!
      const headers = lifecycleHeaders(surface.lifecycle)
      return (request, reply, done) => {
        if (!mayUse(surface, request.key?.surfaces ?? [])) return done(surfaceClosed(surface))
        reply.headers(headers)
        done()
      }
    })
  },
  { name: 'surface-access', dependencies: ['authenticate', 'send-errors'] },
)
