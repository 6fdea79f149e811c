import { wholeNumberProblem } from '../../../lib/checks.ts'

type RateLimitTexts = { requests_per_minute: string; concurrent_calls: string }

/** What is wrong with typed rate limits. */
export const rateLimitProblems = (values: RateLimitTexts) => ({
  requests_per_minute: wholeNumberProblem(values.requests_per_minute),
  concurrent_calls: wholeNumberProblem(values.concurrent_calls),
})

/** Typed rate limits as the API takes them; null: the default. */
export const rateLimitBody = ({ requests_per_minute, concurrent_calls }: RateLimitTexts) => ({
  requests_per_minute: requests_per_minute === '' ? null : Number(requests_per_minute),
  concurrent_calls: concurrent_calls === '' ? null : Number(concurrent_calls),
})

/** Rate limits as they are typed. */
export const rateLimitTexts = (
  limits: { [name in keyof RateLimitTexts]: number | null },
): RateLimitTexts => ({
  requests_per_minute: String(limits.requests_per_minute ?? ''),
  concurrent_calls: String(limits.concurrent_calls ?? ''),
})
