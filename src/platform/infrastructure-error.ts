import { ApiError } from '../core/kernel/errors.ts'
import { isPostgresFailure, sqlStateOf } from './postgres/postgres.ts'
import { isRefusedWrite } from './redis/redis.ts'
import { isRedisAway } from './redis/redis-deadlines.ts'

/** PostgreSQL's `character_not_in_repertoire`: a parameter contains a NUL. */
const UNSTORABLE_TEXT = '22021'

/**
 * Maps a failure of PostgreSQL or Redis (unreachable, too slow, write refused, text not storable) to the error for the
 * client; null for any other failure.
 */
export function infrastructureError(error: unknown): ApiError | null {
  if (sqlStateOf(error) === UNSTORABLE_TEXT)
    return new ApiError('invalid_request', 'The request contains a NUL character. Remove it.', {
      cause: error,
    })
  if (!isPostgresFailure(error) && !isRedisAway(error) && !isRefusedWrite(error)) return null
  return new ApiError('overloaded', 'The gateway cannot do this right now. Retry shortly.', {
    retryAfterSeconds: 1,
    cause: error,
  })
}
