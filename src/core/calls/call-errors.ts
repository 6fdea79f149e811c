import type { CallEnvelope } from './call-job.ts'
import { laneOf } from './fair-queue.ts'
import type { FrameError } from './frames.ts'

/**
 * The errors that the gateway sends to the client of an admitted call: in the response, or in the last chunk of a
 * stream. Errors caused by providers are composed in core/failover/give-up-error.ts.
 */
export const CALL_ERRORS = {
  /** The call could not be enqueued, or Redis failed during its admission. */
  notQueued: {
    code: 'overloaded',
    message: 'The gateway cannot take calls right now. Retry shortly.',
    retryAfterSeconds: 1,
  },
  waitedTooLong: {
    code: 'request_timeout',
    message: 'The call waited too long for a free worker. Retry shortly.',
  },
  noFlexCapacity: {
    code: 'resource_unavailable',
    message:
      'No capacity for the service tier flex became free in time. Retry later, or without `service_tier`.',
    retryAfterSeconds: 60,
  },
  /** The body was beside the queue, or in a process that another worker took the call over from, and is missing. */
  bodyGone: {
    code: 'overloaded',
    message: 'The gateway lost this request before it was answered. Retry shortly.',
    retryAfterSeconds: 1,
  },
  failedInside: {
    code: 'internal_error',
    message: 'An internal error occurred. Retry, and report the request id if it persists.',
  },
  /** It held event loops, or its workers died, twice before anything was sent. */
  stopsWorkers: {
    code: 'internal_error',
    message:
      'Workers of the gateway stopped twice while they prepared this call, so it was ended. Send a simpler request, and report the request id.',
  },
  /** A provider or worker failed after content was sent. */
  brokeOff: {
    code: 'all_providers_failed',
    message:
      'The completion was interrupted and could not be continued. The text before this error is incomplete. Retry the request.',
  },
  /** Frames are missing and cannot be sent again. */
  partLost: {
    code: 'internal_error',
    message: 'Part of the completion was lost inside the gateway. Retry the request.',
  },
  /** The call has ended, and its last frame is missing. */
  responseLost: {
    code: 'internal_error',
    message: 'The response was lost inside the gateway. Retry the request.',
  },
  tooLate: {
    code: 'upstream_timeout',
    message: 'The completion did not finish in time. Retry, or request a shorter completion.',
  },
  /** The API instance or the worker is stopping. */
  stopping: {
    code: 'overloaded',
    message: 'This gateway instance is stopping. Retry the request.',
    retryAfterSeconds: 1,
  },
  suspended: {
    code: 'account_suspended',
    message: 'This account was suspended while the call ran. Contact the operator.',
  },
  originalNotCompleted: {
    code: 'overloaded',
    message: 'The original request for this Idempotency-Key did not complete. Retry it.',
    retryAfterSeconds: 1,
  },
  tooManyRepeats: {
    code: 'rate_limit_exceeded',
    message:
      'Too many requests with this Idempotency-Key are waiting for the response. Wait until the first request ends.',
    retryAfterSeconds: 5,
  },
  tooLongToRepeat: {
    code: 'idempotency_conflict',
    message:
      'The response for this Idempotency-Key is too long to be stored for repeats. Use a new key to send the request again.',
    shouldRetry: false,
  },
  filesNotStored: {
    code: 'overloaded',
    message: 'The gateway cannot store the files of the response right now. Retry shortly.',
    retryAfterSeconds: 5,
  },
  accountFull: {
    code: 'concurrency_limit_exceeded',
    message:
      'The running calls of this account have reached the limit on bytes of files. Retry after some of them have ended.',
    retryAfterSeconds: 1,
  },
} as const satisfies Record<string, FrameError>

/** The error of a call that no worker claimed in time. */
export const waitedTooLong = ({ candidates }: Pick<CallEnvelope, 'candidates'>): FrameError =>
  laneOf(candidates) === 'flex' ? CALL_ERRORS.noFlexCapacity : CALL_ERRORS.waitedTooLong
