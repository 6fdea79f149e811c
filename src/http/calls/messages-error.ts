import { type ApiError, errorObject } from '../../core/kernel/errors.ts'

/** Error types of the messages wire by status; other statuses have `api_error`. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  408: 'timeout_error',
  409: 'invalid_request_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
}

/** The body of an error on the messages wire, with the gateway's code, field and details beside the wire's type. */
export function messagesError(error: ApiError, requestId: string): object {
  const type = ERROR_TYPES[error.status] ?? 'api_error'
  const { wireErrorCode } = error.details
  const details = wireErrorCode && { details: { error_code: wireErrorCode } }
  return {
    type: 'error',
    error: { ...errorObject(error, requestId), type, ...details },
    request_id: requestId,
  }
}

/** The same under /v1, where an unavailable surface has the same body as every other. */
export const stableMessagesError = (error: ApiError, requestId: string): object =>
  error.code === 'surface_unavailable'
    ? { error: errorObject(error, requestId) }
    : messagesError(error, requestId)
