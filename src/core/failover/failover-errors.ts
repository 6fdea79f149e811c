import type { FrameError } from '../calls/frames.ts'
import type { AttemptFailure, FailureKind } from './attempt-failure.ts'
import { wasAccepted } from './failover-state.ts'

export interface PastFailure {
  failure: AttemptFailure
  /** Unix milliseconds. */
  endedAt: number
  /** The client's own key that was used; absent where ours was. */
  providerKeyId?: string | undefined
}

/** How far a call came before it was given up. */
export interface CallProgress {
  failures: readonly PastFailure[]
  /** When routes that were passed over may be back, Unix milliseconds. */
  waits: readonly number[]
  /** One of those that could still be tried is back later than the call may wait. */
  isBackLater: boolean
  /** The client has part of the answer. */
  relayed: boolean
  nowMs: number
  deadlineMs: number
}

const DEFAULT_RETRY_AFTER_SECONDS = 5
const MAX_RETRY_AFTER_SECONDS = 60

const TIMEOUTS: readonly FailureKind[] = ['silent', 'stalled', 'call-timeout']

/**
 * The public error of a call that ends without an answer, or in the middle of one. It never repeats what a
 * provider said: hints come from our own vocabulary.
 */
export function giveUpError(progress: CallProgress): FrameError {
  const last = progress.failures.at(-1)?.failure
  if (last?.kind === 'content-policy') return contentPolicy(last.hint)
  if (progress.relayed) return brokeOff(progress)
  if (last?.kind === 'bad-request' && !wasAccepted(progress.failures)) return badRequest(last.hint)
  if (last?.kind === 'context-length') {
    return {
      code: 'context_length_exceeded',
      message:
        'The messages are longer than the context window of the model. Shorten them or choose a model with a larger window.',
    }
  }
  if (progress.failures.length === 0 && progress.nowMs >= progress.deadlineMs) {
    return {
      code: 'request_timeout',
      message: 'The call ran out of time before a provider was tried. Retry it.',
    }
  }
  if (progress.isBackLater) return allUnavailable(progress)
  if (ranOutOfTime(progress)) {
    return { code: 'upstream_timeout', message: 'No provider answered in time. Retry with backoff.' }
  }
  if (last !== undefined && progress.failures.every(({ failure }) => failure.kind === 'key-unavailable')) {
    return {
      code: 'overloaded',
      message: 'Your own provider key cannot be looked up right now. Retry shortly.',
      retryAfterSeconds: 1,
    }
  }
  if (progress.failures.every(({ failure }) => failure.kind === 'rate-limited'))
    return allUnavailable(progress)
  return {
    code: 'all_providers_failed',
    message: withByokFailures(
      'Every provider that was tried for this call failed. Retry with backoff.',
      progress,
    ),
  }
}

/** The time stands in the text as well: an error within a stream has no headers. */
function allUnavailable(progress: CallProgress): FrameError {
  const seconds = retryAfterSeconds(progress)
  const message = `Every provider for this model is unavailable at the moment. Retry in ${seconds} s.`
  return {
    code: 'no_provider_available',
    message: withByokFailures(message, progress),
    retryAfterSeconds: seconds,
  }
}

/** What went wrong with the client's own keys is theirs to mend, so it is said by the key's id. */
function withByokFailures(message: string, { failures }: CallProgress): string {
  const said = new Set<string>()
  for (const { failure, providerKeyId } of failures) {
    if (providerKeyId === undefined) continue
    if (failure.kind === 'refused') said.add(`Your provider key ${providerKeyId} was refused.`)
    if (failure.kind === 'rate-limited') said.add(`Your provider key ${providerKeyId} is rate limited.`)
  }
  return [message, ...said].join(' ')
}

function contentPolicy(hint: string | null): FrameError {
  return {
    code: 'content_policy_violation',
    message: `The content policy of the model refuses this request${hint === null ? '' : ` (${hint})`}. Change the messages.`,
  }
}

function badRequest(hint: string | null): FrameError {
  return {
    code: 'invalid_request',
    message:
      hint === null
        ? 'The model refuses this request as invalid. Check the parameters and the shape of the messages.'
        : `The model refuses \`${hint}\` of this request as invalid. Check its value.`,
  }
}

function brokeOff(progress: CallProgress): FrameError {
  return {
    code: ranOutOfTime(progress) ? 'upstream_timeout' : 'all_providers_failed',
    message:
      'The answer broke off and could not be continued. What came before this is incomplete. Retry the call.',
  }
}

/** True when time was what ran out: the deadline passed, or every attempt waited in vain. */
function ranOutOfTime({ failures, nowMs, deadlineMs }: CallProgress): boolean {
  if (failures.length === 0) return false
  return (
    nowMs >= deadlineMs ||
    failures.at(-1)!.failure.kind === 'call-timeout' ||
    failures.every(({ failure }) => TIMEOUTS.includes(failure.kind))
  )
}

/** Seconds until the first route is back. */
function retryAfterSeconds({ failures, waits, nowMs }: CallProgress): number {
  const untils = [
    ...waits,
    ...failures.flatMap(({ failure, endedAt }) =>
      failure.retryAfterMs === null ? [] : [endedAt + failure.retryAfterMs],
    ),
  ]
  const ahead = untils.filter((until) => until > nowMs)
  if (ahead.length === 0) return DEFAULT_RETRY_AFTER_SECONDS
  const seconds = Math.ceil((Math.min(...ahead) - nowMs) / 1000)
  return Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(1, seconds))
}
