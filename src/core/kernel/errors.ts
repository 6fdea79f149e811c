/**
 * The one class for every error that a client can see, with the catalogue of codes. `message` is public: it states
 * the remedy and never names a provider or offer. Internal details go to `internal` and `cause`, for logs.
 * @internal
 */
export const CATALOGUE = {
  invalid_json: [400, 'invalid_request_error'],
  invalid_request: [400, 'invalid_request_error'],
  context_length_exceeded: [400, 'invalid_request_error'],
  content_policy_violation: [400, 'invalid_request_error'],
  guardrail_denied: [400, 'invalid_request_error'],
  missing_api_key: [401, 'authentication_error'],
  invalid_api_key: [401, 'authentication_error'],
  not_signed_in: [401, 'authentication_error'],
  invalid_credentials: [401, 'authentication_error'],
  insufficient_balance: [402, 'billing_error'],
  key_limit_exceeded: [402, 'billing_error'],
  payment_required: [402, 'billing_error'],
  key_revoked: [403, 'permission_error'],
  not_permitted: [403, 'permission_error'],
  account_suspended: [403, 'permission_error'],
  model_not_found: [404, 'not_found_error'],
  surface_unavailable: [404, 'not_found_error'],
  not_found: [404, 'not_found_error'],
  method_not_allowed: [405, 'invalid_request_error'],
  request_timeout: [408, 'timeout_error'],
  idempotency_conflict: [409, 'idempotency_error'],
  conflict: [409, 'invalid_request_error'],
  email_taken: [409, 'invalid_request_error'],
  request_too_large: [413, 'invalid_request_error'],
  unsupported_media_type: [415, 'invalid_request_error'],
  unsupported_shape: [422, 'invalid_request_error'],
  websocket_unsupported: [426, 'invalid_request_error'],
  rate_limit_exceeded: [429, 'rate_limit_error'],
  concurrency_limit_exceeded: [429, 'rate_limit_error'],
  resource_unavailable: [429, 'rate_limit_error'],
  internal_error: [500, 'server_error'],
  all_providers_failed: [502, 'upstream_error'],
  overloaded: [503, 'overloaded_error'],
  guardrail_unavailable: [503, 'overloaded_error'],
  no_provider_available: [503, 'overloaded_error'],
  upstream_timeout: [504, 'upstream_error'],
} as const satisfies Record<string, readonly [status: number, type: string]>

export type ErrorCode = keyof typeof CATALOGUE

export const statusOfCode = (code: ErrorCode): number => CATALOGUE[code][0]

export interface ErrorDetails {
  /** JSON path of the offending field, `messages[2].role`. */
  param?: string | undefined
  /** Added to the body as `error.metadata`. */
  metadata?: Record<string, string | number> | undefined
  /** On the messages wire sent as `error.details.error_code`, which its libraries act on. */
  wireErrorCode?: string | undefined
  /** Sent as `Retry-After`, whole seconds, at most 60. */
  retryAfterSeconds?: number | undefined
  /** Sent as `x-should-retry`, which takes precedence over the status in the official client libraries. */
  shouldRetry?: boolean | undefined
  /** Sent as `WWW-Authenticate` on a 401; `Bearer` when absent. */
  challenge?: string | undefined
  /** For logs only. */
  internal?: string | undefined
  cause?: unknown
}

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, publicMessage: string, details: ErrorDetails = {}) {
    super(publicMessage, { cause: details.cause })
    this.code = code
    this.details = details
  }

  get status(): number {
    return CATALOGUE[this.code][0]
  }

  get type(): string {
    return CATALOGUE[this.code][1]
  }
}

/** The refusal of a request because of one of its fields. */
export const invalid = (param: string | undefined, message: string): ApiError =>
  new ApiError('invalid_request', message, { param })

/** The error object in the body of every route and in the last chunk of a broken stream. */
export interface ErrorObject {
  message: string
  type: string
  param: string | null
  code: ErrorCode
  request_id: string
  metadata?: Record<string, string | number>
}

/** Builds the public error object from an error and the request's id. */
export function errorObject(error: ApiError, requestId: string): ErrorObject {
  const { param, metadata } = error.details
  return {
    message: error.message,
    type: error.type,
    param: param ?? null,
    code: error.code,
    request_id: requestId,
    ...(metadata && { metadata }),
  }
}

/** The response headers that belong to an error. */
export function errorHeaders(error: ApiError): Record<string, string> {
  const { retryAfterSeconds, shouldRetry, challenge = 'Bearer' } = error.details
  return {
    ...(error.status === 401 && { 'www-authenticate': challenge }),
    ...(retryAfterSeconds !== undefined && {
      'retry-after': String(Math.min(60, Math.max(1, Math.ceil(retryAfterSeconds)))),
    }),
    ...(shouldRetry !== undefined && { 'x-should-retry': String(shouldRetry) }),
  }
}

/** A startup problem that the operator can fix. The message contains one line per problem. */
export class StartError extends Error {
  override readonly name = 'StartError'
}
