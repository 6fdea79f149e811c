import { ApiError } from '../../core/kernel/errors.ts'
import type { Logger } from '../../platform/observability/logger.ts'

/** Waits for a reading of Redis or PostgreSQL. Whatever keeps it from being read is 503, and is logged. */
export async function readFigures<T>(reading: Promise<T>, logger: Logger): Promise<T> {
  try {
    return await reading
  } catch (cause) {
    if (cause instanceof ApiError) throw cause
    logger.warn({ err: cause }, 'an operator could not be answered')
    throw new ApiError('overloaded', 'This cannot be read right now. Retry shortly.', {
      retryAfterSeconds: 1,
      cause,
    })
  }
}
