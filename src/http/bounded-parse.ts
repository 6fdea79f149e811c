import { setImmediate as nextTurn } from 'node:timers/promises'
import { nestedTooDeep, tooManyValues } from '../core/calls/chat-request.ts'
import { type ParsedJson, parseClientJson } from '../core/json/client-json.ts'
import { type JsonLimits, MAX_NESTING } from '../core/json/json-text.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { threads } from '../platform/process/thread-pool.ts'

/** A shorter body always parses in milliseconds, so its nesting is checked afterwards. */
const LONG_BODY_BYTES = 64 * 1024
/** A body with more besides media is parsed in a thread; its transfer takes less time than parsing it. */
const THREADED_BODY_BYTES = 512 * 1024
const PARSE_LIMIT_MS = 5_000

/** This many values are transferred from a thread, or parsed here, in a few tens of milliseconds. */
const LIMITS: JsonLimits = { depth: MAX_NESTING, values: 100_000 }
const LIMITS_HERE: JsonLimits = { ...LIMITS, bytes: THREADED_BODY_BYTES }
const UNLIMITED: JsonLimits = { depth: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY }

const REFUSALS = {
  'too-long': () =>
    new ApiError('overloaded', 'The gateway is busy with large requests. Retry shortly.', {
      retryAfterSeconds: 1,
    }),
  'too-deep': nestedTooDeep,
  'too-many-values': () => tooManyValues(LIMITS.values),
  invalid: () => new ApiError('invalid_json', 'The request body is not valid JSON.'),
}

/**
 * Parses JSON of a client, with the exact JSON of its schemas that parsing alters. Throws ApiError where it is invalid, or has more values or levels than a client may send,
 * unless it is short. What it is given may be gone afterwards.
 */
export async function parseBody(json: Buffer): Promise<Extract<ParsedJson, { kind: 'value' }>> {
  let parsed = parseClientJson(json, json.length > LONG_BODY_BYTES ? LIMITS_HERE : UNLIMITED)
  if (parsed.kind === 'too-long') parsed = await parseInThread(json)
  if (parsed.kind === 'value') return parsed
  throw REFUSALS[parsed.kind]()
}

async function parseInThread(body: Buffer): Promise<ParsedJson> {
  const isWhole = body.byteLength === body.buffer.byteLength
  const bytes = isWhole ? new Uint8Array(body.buffer as ArrayBuffer) : Uint8Array.from(body)
  const outcome = await threads.run(
    'parseJson',
    { bytes, limits: LIMITS },
    { weight: body.length, limitMs: PARSE_LIMIT_MS, transfer: [bytes.buffer] },
  )
  // Copying a large value took its time; the next step runs in a separate turn.
  await nextTurn()
  return outcome.kind === 'refused' ? { kind: 'too-long' } : outcome.value
}

/** Parses JSON that was stored of a client, as if it were sent again. Throws ApiError. */
export const parseStored = async (json: Buffer): Promise<unknown> => (await parseBody(json)).value
