import { ApiError } from '../../core/kernel/errors.ts'

/** The error for a call that the gateway cannot take now. */
export const overloaded = (message: string, retryAfterSeconds = 1): ApiError =>
  new ApiError('overloaded', `${message} Retry shortly.`, { retryAfterSeconds })

/** The error for a call without a free place or turn. */
export const tooManyCalls = (): ApiError =>
  overloaded('This gateway has reached its limit of concurrent calls.')
