/**
 * Why an attempt at one provider failed. The set is closed: the transport and each wire map every error to one of these
 * kinds, and the failover decision is a table over them.
 */
export const FAILURE_KINDS = [
  /** No connection: refused, unknown host, TLS, or the connect limit passed. */
  'connect',
  /** The connection broke before the response started. */
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
  /** A 400 for the completion text that we asked the provider to continue. */
  'prefill-refused',
  /** No output within the first-token limit. */
  'silent',
  /** Silence between tokens, or so few of them that another offer is the better choice. */
  'stalled',
  /** The completion ended without a finish reason, or was cut off. */
  'broken-stream',
  /** Not the requested wire: HTML, not JSON, or beyond the size limits. */
  'unreadable',
  /** The completion finished and was empty. */
  'empty-answer',
  /** The completion arrived, and our store could not take its files. */
  'not-stored',
  /** The completion arrived, and its account has the maximum of file bytes in flight. */
  'account-full',
  /** The whole call ran out of time. */
  'call-timeout',
  /** A rescue attempt produced other text than the client already has. */
  'rescue-mismatch',
] as const

export type FailureKind = (typeof FAILURE_KINDS)[number]

export interface AttemptFailure {
  kind: FailureKind
  /** The provider's HTTP status, if any. */
  httpStatus: number | null
  /** The wait of Retry-After, in ms from its receipt. */
  retryAfterMs: number | null
  /** A public hint of constant words: policy categories, or the rejected field. */
  hint: string | null
  /**
   * The provider's own message, without keys, targets and quotations of the request; null if there was none. For
   * operators, and for the owner of the BYOK key that was used.
   */
  providerMessage: string | null
  /** A limit expired while this process was blocked, so it does not count against the provider. */
  isLate?: true
  /** For logs. Never shown to clients, and never text that could repeat a prompt. */
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
 * Whether a provider accepted the request of this call without finishing its completion. A 400 of another provider is
 * then not the client's fault.
 */
export const wasAccepted = (attempts: readonly { failure: AttemptFailure }[]): boolean =>
  attempts.some(({ failure: { kind } }) => ANSWERING.has(kind))

const ANSWERING: ReadonlySet<FailureKind> = new Set([
  'stalled',
  'broken-stream',
  'empty-answer',
  'rescue-mismatch',
])

/** The longest wait that a provider's word counts for, ms. */
export const LONGEST_WAIT_MS = 24 * 60 * 60 * 1000

/**
 * The wait of a Retry-After header in milliseconds: whole or decimal seconds, or an HTTP date. Null if the header is
 * absent or invalid. Never negative, never above a day. Source: RFC 9110, 10.2.3.
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null
  const text = value.trim()
  if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return Math.min(LONGEST_WAIT_MS, Math.ceil(Number(text) * 1000))
  // Date.parse accepts more than HTTP dates; those start with the name of a day.
  if (!/^[A-Za-z]{3,9},? /.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : Math.min(LONGEST_WAIT_MS, Math.max(0, at - nowMs))
}
