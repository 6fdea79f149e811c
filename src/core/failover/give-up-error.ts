import { CALL_ERRORS } from '../calls/call-errors.ts'
import type { FrameError } from '../calls/frames.ts'
import { type AttemptFailure, type FailureKind, wasAccepted } from './attempt-failure.ts'
import type { FailoverState, PastAttempt } from './failover-state.ts'

const DEFAULT_RETRY_AFTER_SECONDS = 5
const MAX_RETRY_AFTER_SECONDS = 60

const TIMEOUTS: readonly FailureKind[] = ['silent', 'stalled', 'call-timeout']

/**
 * The public error of a call that ends without a complete response. It quotes a provider's message only to the owner of
 * the BYOK key that was used; hints are constant words.
 * @param isBackLater a route could still be tried, but is back later than the call may wait
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
    message: withByokFailures(`All providers failed${reasonsOf(state)}. Retry with backoff.`, state),
  }
}

/** What the attempts failed with, each reason once, in constant words: ` (HTTP 500; the stream was cut off)`. */
function reasonsOf({ attempts, hidesTarget }: FailoverState): string {
  const reasons = new Set(attempts.flatMap(({ failure }) => reasonOf(failure, hidesTarget) ?? []))
  return reasons.size === 0 ? '' : ` (${[...reasons].join('; ')})`
}

/** Null for failures within the gateway. The status may name a provider, which `auto` hides. */
function reasonOf({ kind, hint, httpStatus }: AttemptFailure, hidesTarget: boolean): string | null {
  switch (kind) {
    case 'server-error':
      return hint ?? (httpStatus === null || hidesTarget ? 'an error of the provider' : `HTTP ${httpStatus}`)
    case 'rate-limited':
      return 'rate limited'
    case 'connect':
    case 'reset':
      return 'no connection'
    case 'silent':
    case 'stalled':
      return 'no tokens in time'
    case 'broken-stream':
      return 'the response was cut off'
    case 'unreadable':
      return 'an unreadable response'
    case 'empty-answer':
      return 'an empty response'
    case 'bad-request':
      return 'request refused'
    case 'refused':
      return 'access refused by the provider'
    case 'context-length':
      return 'messages too long'
    default:
      return null
  }
}

/** The text contains the time, because an error within a stream has no headers. */
function allUnavailable(state: FailoverState): FrameError {
  const seconds = retryAfterSeconds(state)
  const message = `All providers of this model are temporarily unavailable. Retry in ${seconds} s.`
  return {
    code: 'no_provider_available',
    message: withByokFailures(message, state),
    retryAfterSeconds: seconds,
  }
}

/** Failures of the client's BYOK keys are reported with the key's id, because only the client can fix them. */
function withByokFailures(message: string, state: FailoverState): string {
  const said = new Set(state.attempts.flatMap((attempt) => byokFailureText(attempt, state) ?? []))
  return [message, ...said].join(' ')
}

/** Null if a platform key was used, or if the failure does not concern the client's key. */
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

/** The provider's message about the client's own key. It may describe the target, which `auto` hides. */
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
  const broken = state.attempts.findLast(({ failure }) => failure.kind !== 'rescue-mismatch')?.failure
  const reason = broken && reasonWithin(broken)
  return {
    code: ranOutOfTime(state) ? 'upstream_timeout' : 'all_providers_failed',
    message: `The completion ${reason ? `failed (${reason})` : 'was interrupted'} and could not be continued. The text before this error is incomplete. Retry the request.`,
  }
}

/** Why a provider itself ended a completion with an error; null if the connection was lost or silent. */
function reasonWithin({ kind, hint }: AttemptFailure): string | null {
  switch (kind) {
    case 'server-error':
      return hint ?? 'an error of the provider'
    case 'rate-limited':
      return 'the rate limit of the provider was reached'
    case 'context-length':
      return 'the context window of the model is full'
    case 'bad-request':
      return hint === null ? 'the model refuses the request' : `the model refuses \`${hint}\` of the request`
    default:
      return null
  }
}

/** True if time ran out: the deadline passed, or every attempt timed out. */
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
