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
  /** The client's own key could not be looked up. */
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
  /** For logs. Never shown, and never text that could repeat a prompt. */
  internal: string
}

/** A failure with every optional part absent. */
export function attemptFailure(
  kind: FailureKind,
  internal: string,
  parts: Partial<Omit<AttemptFailure, 'kind' | 'internal'>> = {},
): AttemptFailure {
  return { kind, httpStatus: null, retryAfterMs: null, hint: null, ...parts, internal }
}

/** What the end of an attempt says about the health of the offer it happened at. */
export type HealthEffect =
  /** The provider answered as it should, if only to say that the request is at fault. */
  | { kind: 'success' }
  | { kind: 'failure' }
  /**
   * Credentials, balance or model name rejected; permanent until an operator acts. By the provider: our key or balance
   * there, which concerns every offer of it. By the offer: this model, or the permission to use it.
   */
  | { kind: 'refused'; by: 'provider' | 'offer' }
  | { kind: 'rate-limited'; retryAfterMs: number }
  /** Nothing: the clock or the client ended it. */
  | { kind: 'none' }

/** 401: the key is wrong. 402: the balance behind it is spent. No status: there is no key. 403 and 404 may be about one model only. */
const isKeyRefused = (httpStatus: number | null): boolean =>
  httpStatus === null || httpStatus === 401 || httpStatus === 402

/** Reads the health effect off a failure. */
export function healthEffect(failure: AttemptFailure): HealthEffect {
  switch (failure.kind) {
    case 'refused':
      return { kind: 'refused', by: isKeyRefused(failure.httpStatus) ? 'provider' : 'offer' }
    case 'rate-limited':
      return failure.retryAfterMs === null
        ? { kind: 'failure' }
        : { kind: 'rate-limited', retryAfterMs: failure.retryAfterMs }
    case 'connect':
    case 'reset':
    case 'server-error':
    case 'silent':
    case 'stalled':
    case 'broken-stream':
    case 'unreadable':
      return { kind: 'failure' }
    case 'context-length':
    case 'content-policy':
    case 'bad-request':
    case 'prefill-refused':
    case 'rescue-mismatch':
      return { kind: 'success' }
    // A prompt can ask for nothing, so this is no word against the offer.
    case 'empty-answer':
    case 'call-timeout':
    case 'key-unavailable':
      return { kind: 'none' }
    default:
      return failure.kind satisfies never
  }
}
