import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import plugin from 'fastify-plugin'
import type { TSchema } from 'typebox'
import { bodyIsFull } from '../../calls/admission/admit-call.ts'
import { createValidator } from '../../core/api/schema-validator.ts'
import { nestedTooDeep, tooManyValues } from '../../core/calls/chat-request.ts'
import {
  type ExactJson,
  exactJsonOf,
  type JsonLimits,
  MAX_NESTING,
  scanJson,
} from '../../core/json/json-text.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { threads } from '../../platform/process/thread-pool.ts'
import { whenResponseCloses } from '../event-stream.ts'

/**
 * How a request is read, in this order, until its route's handler has it: its head is guarded, its body weighed, parsed
 * and validated. Each is a plugin of its own, since hooks of other plugins run between them.
 */

declare module 'fastify' {
  interface FastifyRequest {
    /** The length of the body that was read; 0 before, and where there is none. */
    bodyBytes: number
    /** The JSON of schemas in the body of which parsing lost something; undefined before, and where there is none. */
    exactJson: ExactJson | undefined
    /** What `weighBody` reserved for this request; null where it was not asked. */
    bodyReservation: BodyReservation | null
  }
  interface FastifyInstance {
    /**
     * An onRequest hook after authentication: reserves what the request announces, before any of it is read. 429 or
     * 503 where the budget has no room for it.
     */
    weighBody(request: FastifyRequest, reply: FastifyReply, done: () => void): void
  }
}

const OPERATOR_API = '/admin/api/'

/** For JSON that a browser's cookie or password opens, whatever becomes of the request: it is no page, and is kept nowhere. */
const PRIVATE_JSON = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

/** Whether a request is for the operators' JSON. `/admin/%61pi/` is routed there as well, so the path counts decoded. */
export function isOperatorApi({ url }: Pick<FastifyRequest, 'url'>): boolean {
  if (url.startsWith(OPERATOR_API)) return true
  const path = url.split('?', 1)[0]!
  if (!path.includes('%')) return false
  try {
    return decodeURIComponent(path).startsWith(OPERATOR_API)
  } catch {
    // What cannot be decoded is routed nowhere.
    return false
  }
}

/** Refuses requests that a proxy in front may have read as another one, and keeps browsers from guessing what an answer is. */
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

/** Node.js keeps the first of several `Host` or `Authorization` headers, and takes the path out of an absolute target. */
function problemOf({ url = '', rawHeaders, httpVersion }: IncomingMessage): string | null {
  if (!url.startsWith('/')) return 'The target of the request is not a path. Ask for `/…`.'
  // PostgreSQL can hold no such text, so nothing of that name is anywhere.
  if (url.includes('%00')) return 'The address contains a NUL character (`%00`). Leave it out.'
  let hosts = 0
  let authorizations = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    // Lengths first: this runs for every header of every call.
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

/** The budget of request bodies in flight. Adds no hook but for clients that ask before they send a body. */
export const weighBodies = plugin<WeighBodiesOptions>(
  async (app, { limits }) => {
    const budget = createBodyBudget(limits)
    app.decorateRequest('bodyReservation', null)
    app.decorate('weighBody', (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
      const bytes = announcedBytes(request, limits.bodyLimitBytes)
      // One that is too long is refused as that, and read by nobody.
      if (bytes <= limits.bodyLimitBytes) {
        const reservation = budget.reserve(ownerOf(request), bytes)
        request.bodyReservation = reservation
        whenResponseCloses(reply.raw, () => reservation.release())
      }
      done()
    })
    // `Expect: 100-continue`: by default Node tells the client to send its body before anybody has looked at the request.
    app.server.on('checkContinue', (request, response) => app.routing(request, response))
    app.addHook('preParsing', (request, reply, _payload, done) => {
      if (request.headers.expect?.toLowerCase() === '100-continue') reply.raw.writeContinue()
      done()
    })
  },
  { name: 'weigh-bodies', dependencies: ['authenticate', 'account-sessions'] },
)

/** The length of a body as its headers say; one that comes in chunks may be as long as any. */
function announcedBytes({ headers }: FastifyRequest, limitBytes: number): number {
  const length = headers['content-length']
  if (length !== undefined) return Number(length)
  return headers['transfer-encoding'] === undefined ? 0 : limitBytes
}

function ownerOf({ key, actingSession, personSession }: FastifyRequest): BodyOwner {
  const accountId = key?.accountId ?? actingSession?.account.id ?? personSession?.person.id
  if (accountId === undefined) throw new Error('the body of a request is weighed before anybody is known')
  return { accountId, keyId: key?.keyId ?? null }
}

/** Bytes of request bodies in flight through one API instance. */
interface BodyBudgetLimits {
  bodyBytesPerKey: number
  bodyBytesPerAccount: number
  bodyBytesPerInstance: number
}

/** Who sends a body. A call from the console names its key in the body: the account alone is known before. */
interface BodyOwner {
  accountId: string
  keyId: string | null
}

/** A part of the budget. Given back when everybody who holds it has released it. */
export interface BodyReservation {
  /** The body was shorter than what was reserved for it. */
  shrink(bytes: number): void
  /** One more holder, who releases it too. */
  hold(): void
  release(): void
}

/**
 * The weight of calls, beside their number: bytes from the moment a request announces its body until its call has
 * ended. Every call in the queue is held here by the instance that enqueued it, so the queue carries at the most
 * what all instances may hold. What a key or account has open at all instances together is counted by the balance cache
 * (admit.lua), once a body has been read.
 */
export function createBodyBudget(limits: BodyBudgetLimits) {
  const taken = new Map<string, number>()
  const scopesOf = ({ accountId, keyId }: BodyOwner): Scope[] => [
    ...(keyId === null
      ? []
      : [{ name: keyId, max: limits.bodyBytesPerKey, refusal: () => bodyIsFull('key') }]),
    { name: accountId, max: limits.bodyBytesPerAccount, refusal: () => bodyIsFull('account') },
    { name: '', max: limits.bodyBytesPerInstance, refusal: instanceIsFull },
  ]
  const add = (scopes: readonly Scope[], bytes: number) => {
    for (const { name } of scopes) {
      const sum = (taken.get(name) ?? 0) + bytes
      if (sum === 0) taken.delete(name)
      else taken.set(name, sum)
    }
  }
  return {
    /** Takes so many bytes. Throws ApiError 429 where the key or its account, 503 where this instance, has none left. */
    reserve(owner: BodyOwner, bytes: number): BodyReservation {
      const scopes = scopesOf(owner)
      const full = scopes.find(({ name, max }) => (taken.get(name) ?? 0) + bytes > max)
      if (full) throw full.refusal()
      add(scopes, bytes)
      let reserved = bytes
      let holders = 1
      const shrink = (to: number) => {
        if (to >= reserved) return
        add(scopes, to - reserved)
        reserved = to
      }
      return {
        shrink,
        hold: () => void holders++,
        release() {
          holders--
          if (holders === 0) shrink(0)
        },
      }
    },
  }
}

interface Scope {
  name: string
  max: number
  refusal: () => ApiError
}

const instanceIsFull = () =>
  new ApiError('overloaded', 'This gateway holds as many bytes of requests as it can. Retry shortly.', {
    retryAfterSeconds: 1,
  })

/** A shorter body parses in milliseconds whatever it says; the check of its nesting can wait until then. */
const LONG_BODY_BYTES = 64 * 1024
/** A larger one is parsed in a thread, and comes back in less time than parsing it takes. */
const THREADED_BODY_BYTES = 512 * 1024
const PARSE_LIMIT_MS = 5_000

/** So many values come back from a thread, or are parsed here, in a few tens of milliseconds. */
const LIMITS: JsonLimits = { depth: MAX_NESTING, values: 100_000 }

/** The one body parser: JSON, without `__proto__`, and nothing that takes long: what does is refused or parsed in a thread. */
export const parseJson = plugin(
  async (app) => {
    app.decorateRequest('bodyBytes', 0)
    app.decorateRequest('exactJson', undefined)
    const parse = app.getDefaultJsonParser('remove', 'ignore')
    app.removeAllContentTypeParsers()
    app.addHook('preParsing', ({ headers }, _reply, _payload, done) => {
      const { 'content-encoding': encoding = 'identity' } = headers
      done(encoding.toLowerCase() === 'identity' ? null : compressed(encoding))
    })
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
      request.bodyBytes = body.length
      // Decoding would put U+FFFD in the place of what is no text, and the client would never know.
      if (!isUtf8(body)) {
        done(new ApiError('invalid_json', 'The request body is not valid UTF-8.'))
        return
      }
      if (body.length > THREADED_BODY_BYTES) {
        parseInThread(body).then(({ value, exact }) => {
          request.exactJson = exact
          done(null, value)
        }, done)
        return
      }
      const scan = body.length > LONG_BODY_BYTES ? scanJson(body, LIMITS) : 'ok'
      if (scan !== 'ok') {
        done(REFUSALS[scan]())
        return
      }
      const text = body.toString()
      parse(request, text, (error, value) => {
        if (!error) request.exactJson = exactJsonOf(text, value)
        done(error, value)
      })
    })
  },
  { name: 'parse-json' },
)

const compressed = (encoding: string): ApiError =>
  new ApiError(
    'unsupported_media_type',
    `The request body has the content encoding \`${encoding}\`. Send it uncompressed, without \`Content-Encoding\`.`,
  )

const REFUSALS = {
  'too-deep': nestedTooDeep,
  'too-many-values': () => tooManyValues(LIMITS.values),
  invalid: () => new ApiError('invalid_json', 'The request body is not valid JSON.'),
}

async function parseInThread(body: Buffer): Promise<{ value: unknown; exact: ExactJson | undefined }> {
  const isWhole = body.byteLength === body.buffer.byteLength
  const bytes = isWhole ? new Uint8Array(body.buffer as ArrayBuffer) : Uint8Array.from(body)
  const outcome = await threads.run(
    'parseJson',
    { bytes, limits: LIMITS },
    { weight: body.length, limitMs: PARSE_LIMIT_MS, transfer: [bytes.buffer] },
  )
  // Copying a large value took its time; what is done with it has a turn of its own.
  await nextTurn()
  if (outcome.kind === 'refused') {
    throw new ApiError('overloaded', 'The gateway reads as many large requests as it can. Retry shortly.', {
      retryAfterSeconds: 1,
    })
  }
  const parsed = outcome.value
  if (parsed.kind === 'value') return parsed
  throw REFUSALS[parsed.kind]()
}

/**
 * Request validation. A route declares TypeBox schemas; Ajv compiles each once, at its first request:
 *
 *     export const things: FastifyPluginAsyncTypebox<Dependencies> = async (app, { store }) => {
 *       app.post(PATH, { onRequest: [app.requireKey], schema: { body: NewThing, response: { 201: Thing } } },
 *         async (request, reply) => reply.code(201).send(viewOf(await store.add(request.body.name))))
 *     }
 *
 * - Validation runs after the body is parsed and before the handler: hooks that answer 401 and 403 (`onRequest`, or
 *   `preValidation` for what comes after a body that cannot be parsed) go first.
 * - `Type.Object({...}, { additionalProperties: false })` refuses unknown fields; without it they are accepted.
 * - Bodies are not coerced. In a query string an empty parameter counts as absent, and digits become a number where
 *   the schema says integer. Defaults are filled in: `limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 })`.
 * - The first offending field is reported: an unknown one, else in the order of the schema. The wording follows from
 *   the schema (`defaultWording` in src/core/api/schema-validator.ts); `errorMessage` replaces it. A text covers every error of the
 *   schema and of what is inside it; a record covers single keywords: `{ errorMessage: { additionalProperties: 'Unknown field.' } }`.
 *   `{param}` in it stands for the path of the field.
 * - `format` takes the names of SCHEMA_FORMATS there; `nullable()` makes a type nullable.
 * - Response schemas type the handlers and document them. Responses are written by JSON.stringify, as without one.
 */

/** Validates requests by the schemas of their routes. */
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
