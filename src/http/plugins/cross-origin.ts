import cors from '@fastify/cors'
import plugin from 'fastify-plugin'

export interface CrossOriginOptions {
  /** `*`: any. None: browsers keep the API to pages of its own origin. */
  corsOrigins: readonly string[]
}

const PREFLIGHT_CACHE_SECONDS = 600
/** What pages may read of a response, beside its body. */
const EXPOSED_HEADERS = [
  'x-request-id',
  'x-completion-limit',
  'retry-after',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
]

/**
 * Lets pages of these origins use the routes of a scope with a key of their own; cookies stay at home. A preflight is
 * answered before anybody is asked for a key, since browsers send none with it.
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
      // Any other OPTIONS is answered like any method that a path does not have.
      delegator: ({ headers }, decide) =>
        decide(null, { ...options, preflight: headers['access-control-request-method'] !== undefined }),
    })
  },
  { name: 'cross-origin' },
)
