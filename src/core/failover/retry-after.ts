const LONGEST_MS = 24 * 60 * 60 * 1000

/**
 * Milliseconds a Retry-After header asks to wait: whole or decimal seconds, or an HTTP date.
 * Null when the header is absent or says neither. Never negative, never above a day. Source: RFC 9110, 10.2.3.
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null
  const text = value.trim()
  if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return Math.min(LONGEST_MS, Math.ceil(Number(text) * 1000))
  // Date.parse takes much more than HTTP dates; those start with the name of a day.
  if (!/^[A-Za-z]{3,9},? /.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : Math.min(LONGEST_MS, Math.max(0, at - nowMs))
}
