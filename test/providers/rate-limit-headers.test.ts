import { describe, expect, test } from 'vitest'
import { nearLimitMs, retryAfterMs, soonestResetMs } from '../../src/providers/rate-limit-headers.ts'

const NOW = Date.parse('2026-11-28T12:00:00Z')

const requests = (remaining: string, reset?: string, limit?: string) => ({
  'x-ratelimit-remaining-requests': remaining,
  ...(reset !== undefined && { 'x-ratelimit-reset-requests': reset }),
  ...(limit !== undefined && { 'x-ratelimit-limit-requests': limit }),
})

describe('a key is near its limit', () => {
  test.each([
    ['one request is left', requests('1', '6m0.5s'), 360_500],
    ['a twentieth of the requests is left', requests('25', '30', '500'), 30_000],
    ['the reset is a time of Unix', requests('0', String(NOW / 1_000 + 7)), 7_000],
    ['the reset is a time of Unix in milliseconds', requests('0', String(NOW + 7_500)), 7_500],
    ['the provider says no reset', requests('0'), 15_000],
    [
      'few tokens are left',
      {
        'x-ratelimit-remaining-tokens': '900',
        'x-ratelimit-limit-tokens': '20000',
        'x-ratelimit-reset-tokens': '1m2s',
      },
      62_000,
    ],
    [
      'Anthropic says so of requests and output tokens: the longer one',
      {
        'anthropic-ratelimit-requests-remaining': '0',
        'anthropic-ratelimit-requests-limit': '50',
        'anthropic-ratelimit-requests-reset': '2026-11-28T12:00:03Z',
        'anthropic-ratelimit-output-tokens-remaining': '0',
        'anthropic-ratelimit-output-tokens-limit': '8000',
        'anthropic-ratelimit-output-tokens-reset': '2026-11-28T12:00:21Z',
      },
      21_000,
    ],
  ])('if %s', (_, headers, ms) => expect(nearLimitMs(headers, NOW)).toBe(ms))

  test.each([
    ['more is left', requests('26', '30', '500')],
    ['the limit is reset at once', requests('0', '20ms')],
    ['the provider says nothing', {}],
    ['what it says is no number', requests('many', 'soon')],
  ])('but not if %s', (_, headers) => expect(nearLimitMs(headers, NOW)).toBeNull())
})

test('the wait of a refusal is that of retry-after-ms, which is exact, else of Retry-After', () => {
  expect(retryAfterMs({ 'retry-after-ms': '1250', 'retry-after': '2' }, NOW)).toBe(1_250)
  expect(retryAfterMs({ 'retry-after': '2' }, NOW)).toBe(2_000)
  expect(retryAfterMs({ 'retry-after-ms': 'soon', 'retry-after': ['3'] }, NOW)).toBe(3_000)
  expect(retryAfterMs({ 'retry-after-ms': '999999999999' }, NOW)).toBe(86_400_000)
  expect(retryAfterMs({}, NOW)).toBeNull()
})

test('the soonest reset of a refusal is known without what is left', () => {
  const headers = { 'x-ratelimit-reset-requests': '12s', 'x-ratelimit-reset-tokens': '4.5s' }
  expect(soonestResetMs(headers, NOW)).toBe(4_500)
  expect(soonestResetMs({}, NOW)).toBeNull()
})
