import { ApiError } from '../../core/kernel/errors.ts'

/** The refusal of a request of which there were too many. */
export function tooMany({ retryAfterSeconds }: { retryAfterSeconds: number }): ApiError {
  const minutes = Math.ceil(retryAfterSeconds / 60)
  return new ApiError(
    'rate_limit_exceeded',
    `Too many attempts. Try again in ${minutes} minute${minutes === 1 ? '' : 's'}.`,
    { retryAfterSeconds },
  )
}
