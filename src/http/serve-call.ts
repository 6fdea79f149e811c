import type { FastifyReply, FastifyRequest } from 'fastify'
import { attachCall } from '../calls/admission/attach-call.ts'
import type { BodyReservation } from '../calls/admission/body-budget.ts'
import { type DispatchedCall, dispatchCall } from '../calls/admission/dispatch-call.ts'
import { type StartCallDependencies, type StartedCall, startCall } from '../calls/admission/start-call.ts'
import type { CallSink } from '../calls/relay/pending-call.ts'
import { type ChatBody, type ChatRequest, normalizeChatRequest } from '../core/calls/chat-request.ts'
import { inlineChars } from '../core/calls/content-part.ts'
import { mediaParts } from '../core/calls/prompt-tokens.ts'
import { ApiError } from '../core/kernel/errors.ts'
import type { StandardKey } from './asking-account.ts'
import { CompletionCollector } from './completion-collector.ts'
import { startEventStream } from './event-stream.ts'
import { StreamWriter } from './stream-writer.ts'
import { whenResponseCloses } from './when-response-closes.ts'

export interface CallServices extends StartCallDependencies {
  clock: () => number
  limits: { textBodyLimitBytes: number; keepAliveMs: number; slowClientBufferBytes: number }
}

/**
 * The one way a call is made, whoever asks: validate, start it with this key, relay its response. `started` is called with
 * the call's id before anything is sent. Throws ApiError.
 */
export async function serveCall(
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
  // The request outlives the response; its text shall not.
  request.body = undefined
  request.exactJson = undefined
  refuseLongText(chat, bodyBytes, deps.limits.textBodyLimitBytes)
  const incoming = {
    requestId: request.id,
    idempotencyKey: idempotencyKey(request),
    // Requests whose schemas differ in what parsing loses are not the same.
    body: { ...body, ...exactJson },
    bodyBytes,
  }
  const call = await startCall(chat, key, incoming, (rate) => request.noteRate(rate), deps)
  started?.(call.envelope.id)
  // Nothing is awaited here from now on, so that the text of the request is freed while its response is sent.
  if (chat.stream) {
    const writer = streamTo(call, request, reply, deps)
    return sendStream(writer, relay(call, chat, writer, reservation, deps), reply)
  }
  const collector = new CompletionCollector(call.envelope)
  return sendCompletion(collector, relay(call, chat, collector, reservation, deps), reply)
}

/** Enqueues an admitted call, or attaches to the original of a repeat. Its frames go to the sink. */
function relay(
  call: StartedCall,
  chat: ChatRequest,
  sink: CallSink,
  reservation: BodyReservation | null,
  { dispatch, idempotency }: CallServices,
): DispatchedCall {
  if (call.kind === 'repeat') return attachCall(call.envelope, sink, { ...dispatch, idempotency })
  reservation?.hold()
  return dispatchCall(call, chat, sink, dispatch, () => reservation?.release())
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

async function sendCompletion(
  collector: CompletionCollector,
  call: DispatchedCall,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const body = await Promise.race([collector.body, clientGone(reply, call)])
  return body === GONE ? reply.hijack() : reply.type('application/json; charset=utf-8').send(body)
}

async function sendStream(
  writer: StreamWriter,
  call: DispatchedCall,
  reply: FastifyReply,
): Promise<FastifyReply> {
  await Promise.race([writer.committed, clientGone(reply, call)])
  // From here on the writer owns the connection.
  return reply.hijack()
}

function streamTo(
  { envelope }: StartedCall,
  request: FastifyRequest,
  reply: FastifyReply,
  { clock, limits }: CallServices,
): StreamWriter {
  return new StreamWriter({
    envelope,
    response: reply.raw,
    requestId: request.id,
    commit: () =>
      startEventStream(reply, { ...request.rateHeaders(), 'cache-control': 'no-cache, no-transform' }),
    keepAliveMs: limits.keepAliveMs,
    maxBufferedBytes: limits.slowClientBufferBytes,
    failed: (code) => {
      request.errorCode = code
    },
    nowMs: clock(),
  })
}

const GONE = Symbol('client gone')

/** Resolves, and cancels the call, when the client leaves before the response is complete. */
function clientGone({ raw }: FastifyReply, call: DispatchedCall): Promise<typeof GONE> {
  return new Promise((resolve) => {
    const onClose = () => {
      if (raw.writableFinished) return
      call.cancel()
      resolve(GONE)
    }
    whenResponseCloses(raw, onClose)
  })
}
