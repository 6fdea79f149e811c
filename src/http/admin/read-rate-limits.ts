import type { RateLimits } from '../../core/accounts/api-key.ts'
import type { AccountLimitsRequest } from '../../core/api/accounts.ts'
import { ApiError } from '../../core/kernel/errors.ts'

/** Reads rate limits; what is absent stays absent. Throws ApiError `invalid_request` for a body without a field. */
export function readRateLimits(body: AccountLimitsRequest, known: readonly string[]): Partial<RateLimits> {
  if (Object.keys(body).length === 0)
    throw new ApiError('invalid_request', `Send at least one of ${known.join(', ')}.`)
  const { requests_per_minute: requestsPerMinute, concurrent_calls: concurrentCalls } = body
  return {
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
    ...(concurrentCalls !== undefined && { concurrentCalls }),
  }
}
