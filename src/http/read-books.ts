import { ApiError } from '../core/kernel/errors.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { sqlStateOf } from '../platform/postgres/postgres.ts'

/** PostgreSQL's `character_not_in_repertoire`: a NUL in what was asked for. */
const UNSTORABLE_TEXT = '22021'

/**
 * Waits for a reading of the books. What PostgreSQL cannot hold as text is 400; whatever else keeps them from being
 * read is 503, and is logged.
 */
export async function readBooks<T>(reading: Promise<T>, logger: Logger): Promise<T> {
  try {
    return await reading
  } catch (cause) {
    if (cause instanceof ApiError) throw cause
    if (sqlStateOf(cause) === UNSTORABLE_TEXT)
      throw new ApiError('invalid_request', 'The request contains a NUL character. Leave it out.', { cause })
    logger.error({ err: cause }, 'a report could not be read')
    throw new ApiError('overloaded', 'The books cannot be read right now. Retry shortly.', {
      retryAfterSeconds: 1,
      cause,
    })
  }
}
