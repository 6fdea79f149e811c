import type { RateLimits } from '../../core/accounts/rate-limits.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { type Fields, readWholeNumber } from '../account/read-body.ts'

export const RATE_LIMIT_FIELDS = ['requests_per_minute', 'concurrent_calls']
const COUNT_MAX = 1_000_000

/** Reads rate limits; what is absent is absent, null lifts a limit. Throws ApiError `invalid_request`. */
export function readRateLimits(fields: Fields): Partial<RateLimits> {
  const limits: Partial<RateLimits> = {}
  if ('requests_per_minute' in fields)
    limits.requestsPerMinute = readWholeNumber(fields, 'requests_per_minute', COUNT_MAX)
  if ('concurrent_calls' in fields)
    limits.concurrentCalls = readWholeNumber(fields, 'concurrent_calls', COUNT_MAX)
  if (Object.keys(fields).length === 0)
    throw new ApiError('invalid_request', `Send at least one of ${RATE_LIMIT_FIELDS.join(', ')}.`)
  return limits
}

/** The same for the audit log. */
export const rateLimitDetails = ({ requestsPerMinute, concurrentCalls }: Partial<RateLimits>) => ({
  ...(requestsPerMinute !== undefined && { requests_per_minute: requestsPerMinute }),
  ...(concurrentCalls !== undefined && { concurrent_calls: concurrentCalls }),
})
