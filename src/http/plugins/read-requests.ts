import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import plugin from 'fastify-plugin'
import type { TSchema } from 'typebox'
import { createValidator } from '../../core/api/schema-validator.ts'
import type { ExactJson, SentJson } from '../../core/json/json-text.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import {
  type BodyBudgetLimits,
  type BodyReservation,
  type BodySender,
  createBodyBudget,
} from '../body-budget.ts'
import { parseBody } from '../bounded-parse.ts'
import { whenResponseCloses } from '../calls/event-stream.ts'
import { readBody } from '../read-body.ts'

/**
 * The steps before a route's handler, in this order: the head is guarded, the body weighed, parsed and validated. Each
 * is a separate plugin, since hooks of other plugins run between them.
 */

declare module 'fastify' {
  interface FastifyRequest {
    /** Received bytes of the body; 0 if there is none. */
    bodyBytes: number
    /** The JSON of schemas in the body that parsing alters; undefined before parsing, and if there is none. */
    exactJson: ExactJson | undefined
    /** The long members of the body as they were received; undefined before parsing, and of a short body. */
    sentJson: SentJson | undefined
    /** The body's reservation in the budget of this instance; null if `weighBody` did not run. */
    bodyReservation: BodyReservation | null
  }
  interface FastifyInstance {
    /**
     * An onRequest hook after authentication: the body counts from now on, as it arrives. 429 or 503 if the announced
     * size would not fit now.
     */
    weighBody(request: FastifyRequest, reply: FastifyReply, done: () => void): void
    /** Space for a message of a request's WebSocket; its holder releases it. Throws ApiError like `weighBody`. */
    reserveBody(request: FastifyRequest): BodyReservation
  }
}

const OPERATOR_API = '/admin/api/'

/** For JSON that a browser's cookie or password gives access to, in every response: it is not a page and must not be cached. */
const PRIVATE_JSON = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

/** Whether a request is for the operators' JSON. `/admin/%61pi/` is routed there as well, so the decoded path counts. */
export function isOperatorApi({ url }: Pick<FastifyRequest, 'url'>): boolean {
  if (url.startsWith(OPERATOR_API)) return true
  const path = url.split('?', 1)[0]!
  if (!path.includes('%')) return false
  try {
    return decodeURIComponent(path).startsWith(OPERATOR_API)
  } catch {
    // A path that cannot be decoded is routed nowhere.
    return false
  }
}

/** Rejects requests that a proxy in front may have read differently, and prevents browsers from guessing content types. */
export const guardRequests = plugin(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      reply.header('x-content-type-options', 'nosniff')
      if (isOperatorApi(request)) reply.headers(PRIVATE_JSON)
      const problem = problemOf(request.raw)
      if (problem === null) done()
      else done(new ApiError('invalid_request', problem))
    })
  },
  { name: 'guard-requests' },
)

/** Node.js keeps the first of several `Host` or `Authorization` headers, and extracts the path of an absolute target. */
function problemOf({ url = '', rawHeaders, httpVersion }: IncomingMessage): string | null {
  if (!url.startsWith('/'))
    return 'The target of the request is not a path. Send a path such as `/v1/models`.'
  // PostgreSQL cannot store such text, so nothing has such a name.
  if (url.includes('%00')) return 'The URL contains a NUL character (`%00`). Remove it.'
  let hosts = 0
  let authorizations = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    // Lengths first, because this runs for every header of every call.
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
    else if (name.length === 13 && name.toLowerCase() === 'authorization') authorizations += 1
  }
  if (hosts === 0 && httpVersion === '1.1') return 'The request has no `Host` header.'
  if (hosts > 1) return 'The request has more than one `Host` header.'
  if (authorizations > 1) return 'The request has more than one `Authorization` header.'
  return null
}

export interface WeighBodiesOptions {
  limits: BodyBudgetLimits & { bodyLimitBytes: number }
}

/** The budget of request bodies in flight. Adds hooks only for clients that wait before they send a body. */
export const weighBodies = plugin<WeighBodiesOptions>(
  async (app, { limits }) => {
    const budget = createBodyBudget(limits)
    app.decorateRequest('bodyReservation', null)
    app.decorate('reserveBody', (request: FastifyRequest) => budget.open(senderOf(request), 0))
    app.decorate('weighBody', (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
      // A chunked body announces no size.
      const bytes = Number(request.headers['content-length'] ?? 0)
      // A body that is too long is rejected for its length, and not read.
      if (bytes <= limits.bodyLimitBytes) {
        const reservation = budget.open(senderOf(request), bytes)
        request.bodyReservation = reservation
        whenResponseCloses(reply.raw, () => reservation.release())
      }
      done()
    })
    // `Expect: 100-continue`: by default Node asks the client to send its body before the request is checked.
    app.server.on('checkContinue', (request, response) => app.routing(request, response))
    app.addHook('preParsing', (request, reply, _payload, done) => {
      if (request.headers.expect?.toLowerCase() === '100-continue') reply.raw.writeContinue()
      done()
    })
  },
  { name: 'weigh-bodies', dependencies: ['authenticate', 'account-sessions'] },
)

function senderOf({ key, actingSession, personSession }: FastifyRequest): BodySender {
  const accountId = key?.accountId ?? actingSession?.account.id ?? personSession?.person.id
  if (accountId === undefined) throw new Error('the body of a request is weighed before anybody is known')
  return { accountId, keyId: key?.keyId ?? null }
}

export interface ParseJsonOptions {
  /** How long an incomplete body may pause. */
  limits: { bodyIdleMs: number }
}

/** The only body parser: JSON, without `__proto__`. A body that takes long is rejected or parsed in a thread. */
export const parseJson = plugin<ParseJsonOptions>(
  async (app, { limits: { bodyIdleMs: idleMs } }) => {
    app.decorateRequest('bodyBytes', 0)
    app.decorateRequest('exactJson', undefined)
    app.decorateRequest('sentJson', undefined)
    app.removeAllContentTypeParsers()
    app.addHook('preParsing', ({ headers }, _reply, _payload, done) => {
      const { 'content-encoding': encoding = 'identity' } = headers
      done(encoding.toLowerCase() === 'identity' ? null : compressed(encoding))
    })
    const read = (request: FastifyRequest) =>
      readBody(request.raw, {
        maxBytes: request.routeOptions.bodyLimit,
        idleMs,
        arrived(bytes) {
          request.bodyBytes += bytes
          request.bodyReservation?.grow(bytes)
        },
      })
    app.addContentTypeParser('application/json', async (request: FastifyRequest) => {
      const body = await read(request)
      // Some client libraries send the content type with every request, also without a body.
      if (body.length === 0 && request.routeOptions.schema?.body === undefined) return undefined
      // Decoding would silently replace invalid bytes by U+FFFD.
      if (!isUtf8(body)) throw new ApiError('invalid_json', 'The request body is not valid UTF-8.')
      const { value, exact, sent } = await parseBody(body)
      request.exactJson = exact
      request.sentJson = sent
      return value
    })
  },
  { name: 'parse-json' },
)

const compressed = (encoding: string): ApiError =>
  new ApiError(
    'unsupported_media_type',
    `The request body has the content encoding \`${encoding}\`. Send it uncompressed, without \`Content-Encoding\`.`,
  )

/**
 * Validates requests by the TypeBox schemas of their routes, which Ajv compiles at the first request: after the body is
 * parsed and after the hooks that return 401 and 403. Bodies are not coerced; in a query string an empty parameter counts as
 * absent, and digits become a number if the schema says integer. Defaults are filled in.
 *
 * The first offending field is reported: an unknown one, otherwise in the order of the schema. The text follows from the schema
 * (`defaultWording` in src/core/api/schema-validator.ts); `errorMessage` replaces it for every error of the schema and its contents,
 * or, as a record, for single keywords. `{param}` in it is replaced by the path of the field.
 */
export const validateRequests = plugin(
  async (app) => {
    app.setValidatorCompiler<TSchema>(({ schema, httpPart }) => {
      const validate = createValidator(schema, httpPart === 'querystring')
      return (value: unknown) => {
        const error = validate(value)
        return error ? { error } : { value }
      }
    })
    app.setSerializerCompiler(() => (payload) => JSON.stringify(payload))
  },
  { name: 'validate-requests' },
)
