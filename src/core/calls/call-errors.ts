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
  /** The body was stored beside the queue and is gone. */
  bodyGone: {
    code: 'overloaded',
    message: 'The gateway cannot take large requests right now. Retry shortly.',
    retryAfterSeconds: 1,
  },
  failedInside: {
    code: 'internal_error',
    message: 'An internal error occurred. Retry, and report the request id if it persists.',
  },
  /** A provider or worker broke off a stream after content. */
  brokeOff: {
    code: 'all_providers_failed',
    message:
      'The answer broke off and could not be continued. What was delivered is all there is; retry the request.',
  },
  /** Frames are missing and cannot be sent again. */
  partLost: {
    code: 'internal_error',
    message: 'Part of the answer was lost inside the gateway. Retry the request.',
  },
  /** The call has ended, and its last frame is lost. */
  answerLost: {
    code: 'internal_error',
    message: 'The answer was lost inside the gateway. Retry the request.',
  },
  tooLate: {
    code: 'upstream_timeout',
    message: 'The answer did not finish in time. Retry, or ask for a shorter answer.',
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
    message: 'Too many requests with this Idempotency-Key wait for its answer. Wait for the first to end.',
    retryAfterSeconds: 5,
  },
  tooLongToRepeat: {
    code: 'idempotency_conflict',
    message:
      'The answer to this Idempotency-Key is too long to be kept for repeats. Use a new key to ask again.',
    shouldRetry: false,
  },
  filesNotStored: {
    code: 'overloaded',
    message: 'The gateway cannot store the files of the answer right now. Retry shortly.',
    retryAfterSeconds: 5,
  },
  accountFull: {
    code: 'concurrency_limit_exceeded',
    message:
      'The calls in flight of this account hold as many bytes of files as they may. Retry when some have ended.',
    retryAfterSeconds: 1,
  },
} as const satisfies Record<string, FrameError>
