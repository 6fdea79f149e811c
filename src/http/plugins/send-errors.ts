import type { FastifyReply, FastifyRequest } from 'fastify'
import plugin from 'fastify-plugin'
import { pathUnknown } from '../../core/api/surfaces/surface-refusals.ts'
import { ApiError, errorHeaders, errorObject } from '../../core/kernel/errors.ts'
import { infrastructureError } from '../../platform/infrastructure-error.ts'
import type { Logger } from '../../platform/observability/logger.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The error body of a surface with its own format. */
    errorBody: ((error: ApiError, requestId: string) => object) | null
  }
}

/** Sends every failure on every route as the one error body with its headers. */
export const sendErrors = plugin<{ logger: Logger }>(
  async (app, { logger }) => {
    app.decorateRequest('errorBody', null)
    app.setErrorHandler((error, request, reply) =>
      sendError(toPublicError(error, request, logger), request, reply),
    )
    app.setNotFoundHandler((request, reply) =>
      sendError(pathUnknown(request.method, request.url), request, reply),
    )
  },
  { name: 'send-errors' },
)

/** For errors before routing: a path that cannot be decoded or is too long. */
export function answerUnroutable(_error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  sendError(pathUnknown(request.method, request.url), request, reply)
}

/** Sends an error as its status, headers and body. */
export function sendError(error: ApiError, request: FastifyRequest, reply: FastifyReply) {
  request.errorCode = error.code
  // Otherwise the server would wait for the rest of a stalled body on an unused connection.
  if (error.code === 'request_timeout' && !request.raw.complete) reply.header('connection', 'close')
  return reply.code(error.status).headers(errorHeaders(error)).send(bodyOf(error, request))
}

/** The one error body, or that of the surface. */
const bodyOf = (error: ApiError, { id, errorBody }: FastifyRequest): object =>
  errorBody?.(error, id) ?? { error: errorObject(error, id) }

function toPublicError(error: unknown, request: FastifyRequest, logger: Logger): ApiError {
  if (error instanceof ApiError) return error
  const { code, statusCode } = error as { code?: string; statusCode?: number }
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ApiError('request_too_large', 'The request body is too large. Shorten the messages.')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ApiError('unsupported_media_type', 'Send the body as `Content-Type: application/json`.')
  }
  if (error instanceof SyntaxError) return new ApiError('invalid_json', 'The request body is not valid JSON.')
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new ApiError('invalid_request', 'The request is not valid.', { cause: error })
  }
  const where = { requestId: request.id, method: request.method, route: request.routeOptions.url }
  const failure = infrastructureError(error)
  if (failure) {
    if (failure.code === 'overloaded')
      logger.error({ ...where, err: error }, 'request failed: postgres or redis unavailable')
    return failure
  }
  logger.error({ ...where, err: error }, 'request failed')
  return new ApiError(
    'internal_error',
    'An internal error occurred. Retry, and report the request id if it persists.',
  )
}
