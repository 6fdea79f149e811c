import { ApiError } from '../core/errors.ts'
import type { Logger } from '../platform/logger.ts'

/** Waits for a reading of the books. Whatever keeps them from being read is 503, and is logged. */
export async function readBooks<T>(reading: Promise<T>, logger: Logger): Promise<T> {
  try {
    return await reading
  } catch (cause) {
    if (cause instanceof ApiError) throw cause
    logger.error({ err: cause }, 'a report could not be read')
    throw new ApiError('overloaded', 'The books cannot be read right now. Retry shortly.', {
      retryAfterSeconds: 1,
      cause,
    })
  }
}
