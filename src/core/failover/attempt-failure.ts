/**
 * Why one try at one provider did not work. The set is closed: the transport and each wire map whatever
 * happens onto it, and the failover decision is a table over it.
 */
export const FAILURE_KINDS = [
  /** No connection: refused, unknown host, TLS, or the connect limit passed. */
  'connect',
  /** The connection broke before the answer began. */
  'reset',
  /** 429, with or without Retry-After. */
  'rate-limited',
  /** 408, 5xx, or an error object in a 200. */
  'server-error',
  /** 401, 402, 403, 404: credentials, provider balance or model name rejected. */
  'refused',
  /** The client's BYOK key could not be looked up. */
  'key-unavailable',
  'context-length',
  'content-policy',
  /** Any other 400. */
  'bad-request',
  /** A 400 for text of the answer that we asked to be continued. */
  'prefill-refused',
  /** Nothing said within the first-token limit. */
  'silent',
  /** Silence between tokens, or so few of them that another offer is better asked. */
  'stalled',
  /** The answer ended without a finish reason, or was cut. */
  'broken-stream',
  /** Not the wire that was asked for: HTML, no JSON, or beyond the size limits. */
  'unreadable',
  /** The answer finished, and there was nothing in it. */
  'empty-answer',
  /** The answer came, and our store could not take its files. */
  'not-stored',
  /** The answer came, and its account has as many bytes of files in flight as it may. */
  'account-full',
  /** The whole call ran out of time. */
  'call-timeout',
  /** A rescue attempt said something else than what the client already has. */
  'rescue-mismatch',
] as const

export type FailureKind = (typeof FAILURE_KINDS)[number]

export interface AttemptFailure {
  kind: FailureKind
  /** The provider's HTTP status, where there was one. */
  httpStatus: number | null
  /** What Retry-After asked for, in ms from when it was received. */
  retryAfterMs: number | null
  /** Words of our own vocabulary that may be shown: policy categories, or the field that was refused. */
  hint: string | null
  /**
   * The provider's own message, without keys, targets and quotations of the request; null where it said nothing. For
   * operators, and for the owner of the BYOK key that was used.
   */
  providerMessage: string | null
  /** A limit passed while this process stood still, which says nothing of the provider. */
  isLate?: true
  /** For logs. Never shown, and never text that could repeat a prompt. */
  internal: string
}

/** A failure with every optional part absent. */
export function attemptFailure(
  kind: FailureKind,
  internal: string,
  parts: Partial<Omit<AttemptFailure, 'kind' | 'internal'>> = {},
): AttemptFailure {
  return { kind, httpStatus: null, retryAfterMs: null, hint: null, providerMessage: null, ...parts, internal }
}

/**
 * Whether a provider has taken the request of this call for a good one, if it did not finish its answer. A 400 of
 * another is then not the client's fault.
 */
export const wasAccepted = (attempts: readonly { failure: AttemptFailure }[]): boolean =>
  attempts.some(({ failure: { kind } }) => ANSWERING.has(kind))

const ANSWERING: ReadonlySet<FailureKind> = new Set([
  'stalled',
  'broken-stream',
  'empty-answer',
  'rescue-mismatch',
])

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
