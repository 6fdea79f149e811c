import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../core/errors.ts'

/** Liveness: the process answers. Readiness: it can take calls. */
export const healthRoutes: FastifyPluginAsync<{ checkReady: () => Promise<void> }> = async (
  app,
  { checkReady },
) => {
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async () => {
    try {
      await checkReady()
    } catch (cause) {
      throw new ApiError('overloaded', 'Not ready: a service this instance needs is away.', {
        retryAfterSeconds: 1,
        cause,
      })
    }
    return { status: 'ready' }
  })
}
