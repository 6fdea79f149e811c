import cors from '@fastify/cors'
import plugin from 'fastify-plugin'

export interface CrossOriginOptions {
  /** `*`: any. None: browsers restrict the API to pages of its own origin. */
  corsOrigins: readonly string[]
}

const PREFLIGHT_CACHE_SECONDS = 600
/** The response headers that pages may read. */
const EXPOSED_HEADERS = [
  'x-request-id',
  'x-completion-limit',
  'x-ignored-parameters',
  'x-shuntyard-cache',
  'x-shuntyard-cache-age',
  'retry-after',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
]

/**
 * Allows pages of these origins to use the routes of a scope with their own key, without cookies. A preflight is
 * answered before authentication, because browsers send no key with it.
 */
export const crossOrigin = plugin<CrossOriginOptions>(
  async (app, { corsOrigins }) => {
    if (corsOrigins.length === 0) return
    const options = {
      origin: corsOrigins.includes('*') ? '*' : [...corsOrigins],
      methods: ['GET', 'POST', 'PATCH', 'DELETE'],
      exposedHeaders: EXPOSED_HEADERS,
      maxAge: PREFLIGHT_CACHE_SECONDS,
    }
    await app.register(cors, {
      // Any other OPTIONS is handled like an unsupported method of a path.
      delegator: ({ headers }, decide) =>
        decide(null, { ...options, preflight: headers['access-control-request-method'] !== undefined }),
    })
  },
  { name: 'cross-origin' },
)
