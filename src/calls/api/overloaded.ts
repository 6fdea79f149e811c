import { ApiError } from '../../core/kernel/errors.ts'

/** The refusal of a call that the gateway cannot take now. */
export const overloaded = (message: string, retryAfterSeconds = 1): ApiError =>
  new ApiError('overloaded', `${message} Retry shortly.`, { retryAfterSeconds })

/** The refusal of a call that finds no place or no turn. */
export const tooManyCalls = (): ApiError => overloaded('This gateway serves as many calls as it can.')
