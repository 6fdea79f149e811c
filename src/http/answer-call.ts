import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DispatchedCall } from '../calls/admission/dispatch-call.ts'
import { type StartCallDependencies, type StartedCall, startCall } from '../calls/admission/start-call.ts'
import { type ChatBody, type ChatRequest, normalizeChatRequest } from '../core/calls/chat-request.ts'
import { inlineChars } from '../core/calls/content-part.ts'
import { mediaParts } from '../core/calls/prompt-tokens.ts'
import { ApiError } from '../core/kernel/errors.ts'
import type { StandardKey } from './plugins/authenticate.ts'
import { ReplyCollector } from './reply-collector.ts'
import { StreamWriter } from './stream-writer.ts'
import { whenResponseCloses } from './when-response-closes.ts'

export interface CallServices extends StartCallDependencies {
  clock: () => number
  limits: { textBodyLimitBytes: number; keepAliveMs: number; slowClientBufferBytes: number }
}

/**
 * The one way a call is made, whoever asks: validate, start it with this key, relay its answer. `started` hears the
 * call's id before anything is answered. Throws ApiError.
 */
export async function answerCall(
  key: StandardKey,
  body: ChatBody,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: CallServices,
  started?: (callId: string) => void,
): Promise<FastifyReply> {
  const { bodyReservation: reservation, bodyBytes, exactJson } = request
  // One that came in chunks was taken for the longest until now.
  reservation?.shrink(bodyBytes)
  const chat = normalizeChatRequest(body, exactJson)
  // The request outlives the answer; its text shall not.
  request.body = undefined
  request.exactJson = undefined
  refuseLongText(chat, bodyBytes, deps.limits.textBodyLimitBytes)
  const incoming = {
    requestId: request.id,
    idempotencyKey: idempotencyKey(request),
    // Requests whose schemas differ in what parsing loses are not the same.
    body: { ...body, ...exactJson },
    bodyBytes,
    reservation,
  }
  const call = await startCall(chat, key, incoming, (figures) => request.noteRate(figures), deps)
  started?.(call.envelope.id)
  return chat.stream ? streamAnswer(call, request, reply, deps) : wholeAnswer(call, reply)
}

/** Media make a body long. What is left of one without them is text, and text is held, counted and scored. */
function refuseLongText({ messages }: ChatRequest, bodyBytes: number, limitBytes: number): void {
  if (bodyBytes <= limitBytes) return
  const mediaBytes = mediaParts(messages).reduce((sum, part) => sum + inlineChars(part), 0)
  if (bodyBytes - mediaBytes <= limitBytes) return
  throw new ApiError(
    'request_too_large',
    `The request body may take ${limitBytes} bytes beside its media. Shorten the messages.`,
  )
}

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/

function idempotencyKey({ headers }: FastifyRequest): string | null {
  const given = headers['idempotency-key']
  if (given === undefined) return null
  if (typeof given === 'string' && IDEMPOTENCY_KEY.test(given)) return given
  throw new ApiError('invalid_request', '`Idempotency-Key` takes 1 to 255 printable ASCII characters.', {
    param: 'Idempotency-Key',
  })
}

async function wholeAnswer(started: StartedCall, reply: FastifyReply): Promise<FastifyReply> {
  const collector = new ReplyCollector(started.envelope)
  const call = started.send(collector)
  const body = await Promise.race([collector.body, clientGone(reply, call)])
  return body === GONE ? reply.hijack() : reply.type('application/json; charset=utf-8').send(body)
}

async function streamAnswer(
  started: StartedCall,
  request: FastifyRequest,
  reply: FastifyReply,
  { clock, limits }: CallServices,
): Promise<FastifyReply> {
  const writer = new StreamWriter({
    envelope: started.envelope,
    response: reply.raw,
    requestId: request.id,
    commit: () => commitStream(request, reply),
    keepAliveMs: limits.keepAliveMs,
    maxBufferedBytes: limits.slowClientBufferBytes,
    hangUp: () => call.hangUp(),
    failed: (code) => {
      request.errorCode = code
    },
    nowMs: clock(),
  })
  const call: DispatchedCall = started.send(writer)
  await Promise.race([writer.committed, clientGone(reply, call)])
  // From here on the writer owns the connection.
  return reply.hijack()
}

/** Takes the response over from Fastify and sends its head. */
function commitStream(request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack()
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    ...request.rateHeaders(),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
}

const GONE = Symbol('client gone')

/** Resolves, and hangs the call up, when the client leaves before the response is complete. */
function clientGone({ raw }: FastifyReply, call: DispatchedCall): Promise<typeof GONE> {
  return new Promise((resolve) => {
    const onClose = () => {
      if (raw.writableFinished) return
      call.hangUp()
      resolve(GONE)
    }
    whenResponseCloses(raw, onClose)
  })
}
