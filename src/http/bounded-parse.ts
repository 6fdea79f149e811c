import { setImmediate as nextTurn } from 'node:timers/promises'
import { nestedTooDeep, tooManyValues } from '../core/calls/chat-request.ts'
import { type ExactJson, type JsonLimits, MAX_NESTING, scanJson } from '../core/json/json-text.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { threads } from '../platform/process/thread-pool.ts'

/** A shorter body always parses in milliseconds, so its nesting is checked afterwards. */
const LONG_BODY_BYTES = 64 * 1024
/** A larger body is parsed in a thread; its transfer takes less time than parsing it. */
const THREADED_BODY_BYTES = 512 * 1024
const PARSE_LIMIT_MS = 5_000

/** This many values are transferred from a thread, or parsed here, in a few tens of milliseconds. */
const LIMITS: JsonLimits = { depth: MAX_NESTING, values: 100_000 }

const REFUSALS = {
  'too-deep': nestedTooDeep,
  'too-many-values': () => tooManyValues(LIMITS.values),
  invalid: () => new ApiError('invalid_json', 'The request body is not valid JSON.'),
}

/** Whether JSON is so long that it is parsed in a thread. */
export const isThreaded = (json: Buffer): boolean => json.length > THREADED_BODY_BYTES

/** Throws ApiError for JSON of more values or levels than a client may send, unless it is short. */
export function refuseExcess(json: Buffer): void {
  const scan = json.length > LONG_BODY_BYTES ? scanJson(json, LIMITS) : 'ok'
  if (scan !== 'ok') throw REFUSALS[scan]()
}

/** Parses JSON of a client within the same limits. What it is given may be gone afterwards. Throws ApiError. */
export async function parseInThread(body: Buffer): Promise<{ value: unknown; exact: ExactJson | undefined }> {
  const isWhole = body.byteLength === body.buffer.byteLength
  const bytes = isWhole ? new Uint8Array(body.buffer as ArrayBuffer) : Uint8Array.from(body)
  const outcome = await threads.run(
    'parseJson',
    { bytes, limits: LIMITS },
    { weight: body.length, limitMs: PARSE_LIMIT_MS, transfer: [bytes.buffer] },
  )
  // Copying a large value took its time; the next step runs in a separate turn.
  await nextTurn()
  if (outcome.kind === 'refused') {
    throw new ApiError('overloaded', 'The gateway is busy with large requests. Retry shortly.', {
      retryAfterSeconds: 1,
    })
  }
  const parsed = outcome.value
  if (parsed.kind === 'value') return parsed
  throw REFUSALS[parsed.kind]()
}

/** Parses JSON that was stored of a client, as if it were sent again. Throws ApiError. */
export async function parseStored(json: Buffer): Promise<unknown> {
  if (isThreaded(json)) return (await parseInThread(json)).value
  refuseExcess(json)
  return JSON.parse(json.toString())
}
