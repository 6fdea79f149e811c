import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../core/kernel/errors.ts'
import type { Readiness } from '../../platform/observability/readiness.ts'

const NOT_READY: Record<Extract<Readiness, { status: 'not-ready' }>['reason'], string> = {
  'redis-away': 'Not ready: Redis does not respond.',
  'redis-refuses-writes': 'Not ready: Redis refuses writes.',
  stopping: 'Not ready: this instance is stopping.',
}

/** Liveness: the process responds. Readiness: it can take calls, all of them or those that need no PostgreSQL. */
export const healthRoutes: FastifyPluginAsync<{ readiness: () => Promise<Readiness> }> = async (
  app,
  { readiness },
) => {
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async () => {
    const answer = await readiness()
    if (answer.status !== 'not-ready') return answer
    throw new ApiError('overloaded', NOT_READY[answer.reason], { retryAfterSeconds: 1 })
  })
}
