import { LONGEST_WAIT_MS, parseRetryAfter } from '../core/failover/attempt-failure.ts'

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The names of what is left, of the limit and of its reset, as providers write them. */
const LIMITS: ReadonlyArray<{ remaining: string; limit: string; reset: string }> = [
  ...['requests', 'tokens'].map((what) => ({
    remaining: `x-ratelimit-remaining-${what}`,
    limit: `x-ratelimit-limit-${what}`,
    reset: `x-ratelimit-reset-${what}`,
  })),
  ...['requests', 'tokens', 'input-tokens', 'output-tokens'].map((what) => ({
    remaining: `anthropic-ratelimit-${what}-remaining`,
    limit: `anthropic-ratelimit-${what}-limit`,
    reset: `anthropic-ratelimit-${what}-reset`,
  })),
]

/** A key is near its limit with less than this part of it left, or with one request. */
const NEAR = 1 / 20
/** A reset that is as soon as this is no reason to use another key. */
const SOON_MS = 100
/** How long it is taken to be near it if the provider says no time. */
const RESET_MS = 15_000

/**
 * Milliseconds until the limit is reset that the key of a request is near; the longest if it is near several. Null if it is near none.
 * Sources: https://platform.openai.com/docs/guides/rate-limits, https://docs.anthropic.com/en/api/rate-limits.
 */
export function nearLimitMs(headers: ResponseHeaders, nowMs: number): number | null {
  let longest: number | null = null
  for (const { remaining, limit, reset } of LIMITS) {
    const left = numberIn(headers[remaining])
    if (left === null || left > Math.max(1, (numberIn(headers[limit]) ?? 0) * NEAR)) continue
    const ms = parseReset(textOf(headers[reset]), nowMs) ?? RESET_MS
    if (longest === null || ms > longest) longest = ms
  }
  return longest !== null && longest > SOON_MS ? longest : null
}

/** The soonest reset that the headers of a 429 name, ms; null: none. */
export function soonestResetMs(headers: ResponseHeaders, nowMs: number): number | null {
  const resets = LIMITS.flatMap(({ reset }) => parseReset(textOf(headers[reset]), nowMs) ?? [])
  return resets.length === 0 ? null : Math.min(...resets)
}

/** The wait that a refusal asks for, ms: `retry-after-ms`, else `Retry-After`. Null if it says none. */
export function retryAfterMs(headers: ResponseHeaders, nowMs: number): number | null {
  const ms = numberIn(headers['retry-after-ms'])
  return ms !== null
    ? Math.min(LONGEST_WAIT_MS, Math.ceil(ms))
    : parseRetryAfter(textOf(headers['retry-after']), nowMs)
}

const UNITS_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }
const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|[hms]))+$/

/** The time until a limit is reset: `6m0.5s`, seconds, or a time of RFC 3339 or of Unix. Null if it is none of these. */
function parseReset(text: string | undefined, nowMs: number): number | null {
  if (text === undefined) return null
  const number = numberIn(text)
  const ms =
    number !== null
      ? waitOf(number, nowMs)
      : DURATION.test(text)
        ? [...text.matchAll(/([\d.]+)(ms|[hms])/g)].reduce(
            (sum, [, count, unit]) => sum + Number(count) * UNITS_MS[unit!]!,
            0,
          )
        : /^\d{4}-\d\d-\d\dT/.test(text)
          ? Date.parse(text) - nowMs
          : Number.NaN
  return Number.isNaN(ms) ? null : Math.min(LONGEST_WAIT_MS, Math.max(0, Math.ceil(ms)))
}

/** A large number is a time, in seconds or milliseconds of Unix; any other is seconds from now. */
function waitOf(value: number, nowMs: number): number {
  if (value >= 1e12) return value - nowMs
  return value >= 1e9 ? value * 1_000 - nowMs : value * 1_000
}

function numberIn(header: string | string[] | undefined): number | null {
  const text = textOf(header)
  return text !== undefined && /^\d{1,15}(\.\d{1,9})?$/.test(text) ? Number(text) : null
}

const textOf = (header: string | string[] | undefined): string | undefined =>
  (Array.isArray(header) ? header[0] : header)?.trim()
