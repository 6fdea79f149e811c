import { CALL_ERRORS } from '../calls/call-errors.ts'
import type { FrameError } from '../calls/frames.ts'
import type { FailoverState, PastAttempt } from './failover.ts'

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
export const wasAccepted = (attempts: readonly Pick<PastAttempt, 'failure'>[]): boolean =>
  attempts.some(({ failure: { kind } }) => ANSWERING.has(kind))

const ANSWERING: ReadonlySet<FailureKind> = new Set([
  'stalled',
  'broken-stream',
  'empty-answer',
  'rescue-mismatch',
])

const DEFAULT_RETRY_AFTER_SECONDS = 5
const MAX_RETRY_AFTER_SECONDS = 60

const TIMEOUTS: readonly FailureKind[] = ['silent', 'stalled', 'call-timeout']

/**
 * The public error of a call that ends without an answer, or in the middle of one. It repeats what a provider said only
 * to the owner of the BYOK key that it was said of; hints come from our own vocabulary.
 * @param isBackLater a route that could still be tried is back later than the call may wait
 */
export function giveUpError(state: FailoverState, isBackLater: boolean): FrameError {
  const { attempts, nowMs, deadlineMs } = state
  const last = attempts.at(-1)?.failure
  if (last?.kind === 'content-policy') return contentPolicy(last.hint)
  if (last?.kind === 'not-stored') return CALL_ERRORS.filesNotStored
  if (last?.kind === 'account-full') return CALL_ERRORS.accountFull
  if (state.relayed.kind !== 'nothing') return brokeOff(state)
  if (last?.kind === 'bad-request' && !wasAccepted(attempts)) return badRequest(last.hint, state)
  if (last?.kind === 'context-length') {
    return {
      code: 'context_length_exceeded',
      message:
        'The messages are longer than the context window of the model. Shorten them or choose a model with a larger window.',
    }
  }
  if (attempts.length === 0 && nowMs >= deadlineMs) {
    return {
      code: 'request_timeout',
      message: 'The call ran out of time before a provider was tried. Retry it.',
    }
  }
  if (isBackLater) return allUnavailable(state)
  if (ranOutOfTime(state)) {
    return { code: 'upstream_timeout', message: 'All providers timed out. Retry with backoff.' }
  }
  if (last !== undefined && attempts.every(({ failure }) => failure.kind === 'key-unavailable')) {
    return {
      code: 'overloaded',
      message: 'Your provider key is temporarily unavailable. Retry shortly.',
      retryAfterSeconds: 1,
    }
  }
  if (attempts.every(({ failure }) => failure.kind === 'rate-limited')) return allUnavailable(state)
  return {
    code: 'all_providers_failed',
    message: withByokFailures('All providers failed. Retry with backoff.', state),
  }
}

/** The time stands in the text as well: an error within a stream has no headers. */
function allUnavailable(state: FailoverState): FrameError {
  const seconds = retryAfterSeconds(state)
  const message = `All providers of this model are temporarily unavailable. Retry in ${seconds} s.`
  return {
    code: 'no_provider_available',
    message: withByokFailures(message, state),
    retryAfterSeconds: seconds,
  }
}

/** What went wrong with the client's BYOK keys is theirs to mend, so it is said by the key's id. */
function withByokFailures(message: string, state: FailoverState): string {
  const said = new Set(state.attempts.flatMap((attempt) => byokFailureText(attempt, state) ?? []))
  return [message, ...said].join(' ')
}

/** Null where our own key was used, or where the failure says nothing of the client's. */
function byokFailureText(attempt: PastAttempt, state: FailoverState): string | null {
  const { providerKeyId } = state.routes[attempt.routeIndex]!
  if (providerKeyId === undefined) return null
  switch (attempt.failure.kind) {
    case 'refused':
      return `Your provider key ${providerKeyId} was refused.${messageForOwner(attempt, state)}`
    case 'rate-limited':
      return `Your provider key ${providerKeyId} is rate limited.${messageForOwner(attempt, state)}`
    case 'connect':
    case 'reset':
      return `The provider of your provider key ${providerKeyId} could not be reached.`
    case 'server-error':
    case 'silent':
    case 'stalled':
    case 'unreadable':
      return `The provider of your provider key ${providerKeyId} failed.${messageForOwner(attempt, state)}`
    default:
      return null
  }
}

/** What a provider said to the client's own key. It may describe the target, which `auto` hides. */
function messageForOwner(
  { failure, routeIndex }: PastAttempt,
  { routes, hidesTarget }: FailoverState,
): string {
  const isOwn = routes[routeIndex]!.providerKeyId !== undefined
  return isOwn && !hidesTarget && failure.providerMessage !== null
    ? ` The provider says: "${failure.providerMessage}"`
    : ''
}

function contentPolicy(hint: string | null): FrameError {
  return {
    code: 'content_policy_violation',
    message: `The content policy of the model refuses this request${hint === null ? '' : ` (${hint})`}. Change the messages.`,
  }
}

function badRequest(hint: string | null, state: FailoverState): FrameError {
  const message =
    hint === null
      ? 'The model refuses this request as invalid. Check the parameters and the shape of the messages.'
      : `The model refuses \`${hint}\` of this request as invalid. Check its value.`
  return {
    code: 'invalid_request',
    message: message + messageForOwner(state.attempts.at(-1)!, state),
    ...(hint !== null && { param: hint }),
  }
}

function brokeOff(state: FailoverState): FrameError {
  return {
    code: ranOutOfTime(state) ? 'upstream_timeout' : 'all_providers_failed',
    message:
      'The answer broke off and could not be continued. What came before this is incomplete. Retry the call.',
  }
}

/** True when time was what ran out: the deadline passed, or every attempt waited in vain. */
function ranOutOfTime({ attempts, nowMs, deadlineMs }: FailoverState): boolean {
  if (attempts.length === 0) return false
  return (
    nowMs >= deadlineMs ||
    attempts.at(-1)!.failure.kind === 'call-timeout' ||
    attempts.every(({ failure }) => TIMEOUTS.includes(failure.kind))
  )
}

/** Seconds until the first route is back. */
function retryAfterSeconds({ attempts, routes, nowMs }: FailoverState): number {
  const untils = [
    ...routes.flatMap(({ health }) =>
      health.kind === 'down' || health.kind === 'rate-limited' ? [health.untilMs] : [],
    ),
    ...attempts.flatMap(({ failure, endedAt }) =>
      failure.retryAfterMs === null ? [] : [endedAt + failure.retryAfterMs],
    ),
  ]
  const ahead = untils.filter((until) => until > nowMs)
  if (ahead.length === 0) return DEFAULT_RETRY_AFTER_SECONDS
  const seconds = Math.ceil((Math.min(...ahead) - nowMs) / 1000)
  return Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(1, seconds))
}

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
