import { ApiError } from '../core/kernel/errors.ts'
import { isPostgresFailure, sqlStateOf } from './postgres/postgres.ts'
import { isRefusedWrite } from './redis/redis.ts'
import { isRedisAway } from './redis/redis-deadlines.ts'

/** PostgreSQL's `character_not_in_repertoire`: a NUL in what was asked for. */
const UNSTORABLE_TEXT = '22021'

/**
 * What the client receives when PostgreSQL or Redis is not reachable, does not respond in time or refuses a write, or
 * cannot store a text; null for any other failure.
 */
export function infrastructureError(error: unknown): ApiError | null {
  if (sqlStateOf(error) === UNSTORABLE_TEXT)
    return new ApiError('invalid_request', 'The request contains a NUL character. Leave it out.', {
      cause: error,
    })
  if (!isPostgresFailure(error) && !isRedisAway(error) && !isRefusedWrite(error)) return null
  return new ApiError('overloaded', 'The gateway cannot do this right now. Retry shortly.', {
    retryAfterSeconds: 1,
    cause: error,
  })
}
