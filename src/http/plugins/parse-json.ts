import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import plugin from 'fastify-plugin'
import { nestedTooDeep, tooManyValues } from '../../core/calls/chat-request.ts'
import { type ExactJson, exactJsonOf } from '../../core/json/exact-json.ts'
import { type JsonLimits, scanJson } from '../../core/json/json-scan.ts'
import { MAX_NESTING } from '../../core/json/nesting.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { threads } from '../../platform/process/thread-pool.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The length of the body that was read; 0 before, and where there is none. */
    bodyBytes: number
    /** The JSON of schemas in the body of which parsing lost something; undefined before, and where there is none. */
    exactJson: ExactJson | undefined
  }
}

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
    app.addHook('preParsing', async ({ headers }) => {
      const { 'content-encoding': encoding = 'identity' } = headers
      if (encoding.toLowerCase() !== 'identity') throw compressed(encoding)
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
