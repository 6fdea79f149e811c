import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { attachCall } from '../../calls/admission/attach-call.ts'
import { type DispatchedCall, dispatchCall } from '../../calls/admission/dispatch-call.ts'
import {
  type PlannedCall,
  type StartCallDependencies,
  type StartedCall,
  startCall,
} from '../../calls/admission/start-call.ts'
import {
  ChatBody,
  type ChatRequest,
  normalizeChatRequest,
  refuseLongText,
} from '../../core/calls/chat-request.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { CHAT_FORMAT } from '../chat-format.ts'
import {
  CompletionCollector,
  type CompletionWriter,
  type ResponseFormat,
  StreamWriter,
} from '../completion-writer.ts'
import { startEventStream, whenResponseCloses } from '../event-stream.ts'
import { type StandardKey, standardKey } from '../plugins/authenticate.ts'
import { isGuest, type PaidCalls, payForCall, requireKeyOrPayment } from './paid-calls.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Called with the id of the call that a request makes, before anything is sent. */
    callStarted?: ((callId: string) => void) | undefined
  }
}

export const callingKey = (request: FastifyRequest) =>
  standardKey(request, 'Admin keys cannot call models. Use a standard key.')

/** Who may not call models hears so before the body is read. */
export const mayCall = (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
  callingKey(request)
  done()
}

/** POST /v1/chat/completions: validate, start the call, relay its answer. */
export const chatCompletionsRoute =
  (path: string): FastifyPluginAsyncTypebox<ChatServices> =>
  async (app, deps) => {
    const { paidCalls } = deps
    app.post(
      path,
      {
        onRequest: [
          paidCalls ? requireKeyOrPayment(app.requireKey, paidCalls) : app.requireKey,
          mayCall,
          app.weighBody,
        ],
        bodyLimit: deps.limits.bodyLimitBytes,
        schema: { summary: 'A chat completion, whole or as a stream', body: ChatBody },
      },
      async (request, reply) =>
        paidCalls && isGuest(request)
          ? servePaidChat(request.body, request, reply, deps, paidCalls)
          : serveCall(callingKey(request), askedChat(request.body, request), request, reply, deps),
    )
  }

export interface ChatServices extends CallServices {
  limits: CallServices['limits'] & { bodyLimitBytes: number }
  /** Null: every call needs a key. */
  paidCalls: PaidCalls | null
}

export interface CallServices extends StartCallDependencies {
  clock: () => number
  limits: { textBodyLimitBytes: number; keepAliveMs: number; slowClientBufferBytes: number }
}

/** A call that a surface asks for. */
export interface AskedCall {
  chat: ChatRequest
  /** What makes two requests the same, for their Idempotency-Key. */
  fingerprint: unknown
  format: ResponseFormat
  /** See IncomingCall. */
  planned?: PlannedCall
  /** Comes between the frames of the call and their writer. */
  watch?: (writer: CompletionWriter) => CompletionWriter
}

function askedChat(body: ChatBody, { exactJson }: FastifyRequest): AskedCall {
  const chat = normalizeChatRequest(body, exactJson)
  // Requests whose schemas differ in what parsing loses are not the same.
  return { chat, fingerprint: { ...body, ...exactJson }, format: CHAT_FORMAT }
}

/** Validates a chat completion without a key, and makes its call once it is paid. Throws ApiError. */
async function servePaidChat(
  body: ChatBody,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ChatServices,
  paidCalls: PaidCalls,
): Promise<FastifyReply> {
  const asked = askedChat(body, request)
  refuseLongText(asked.chat, request.bodyBytes, deps.limits.textBodyLimitBytes)
  const paid = await payForCall(asked.chat, request, reply, { ...paidCalls, admission: deps.admission })
  const { key, planned, watch, admission } = paid
  try {
    return await serveCall(key, { ...asked, planned, watch }, request, reply, { ...deps, admission })
  } catch (error) {
    paid.failed(error)
    throw error
  }
}

/** The one way a call is made, whoever asks: start it with this key, relay its response. Throws ApiError. */
export async function serveCall(
  key: StandardKey,
  { chat, fingerprint, format, planned, watch = (writer) => writer }: AskedCall,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: CallServices,
): Promise<FastifyReply> {
  const { bodyReservation: reservation, bodyBytes } = request
  // One that came in chunks was taken for the longest until now.
  reservation?.shrink(bodyBytes)
  // The request outlives the response; its text shall not.
  request.body = undefined
  request.exactJson = undefined
  refuseLongText(chat, bodyBytes, deps.limits.textBodyLimitBytes)
  const incoming = {
    chat,
    key,
    requestId: request.id,
    idempotencyKey: idempotencyKey(request),
    body: fingerprint,
    bodyBytes,
    noteRate: request.noteRate.bind(request),
    planned,
  }
  const call = await startCall(incoming, deps)
  request.callStarted?.(call.envelope.id)
  // Nothing is awaited here from now on, so that the text of the request is freed while its response is sent.
  const writer = watch(
    chat.stream
      ? streamTo(call, format, request, reply, deps)
      : new CompletionCollector(call.envelope, format),
  )
  return send(writer, relay(call, chat, writer, reservation, deps), reply)
}

/** Enqueues an admitted call, or attaches to the original of a repeat. Its frames go to the writer. */
function relay(
  call: StartedCall,
  chat: ChatRequest,
  writer: CompletionWriter,
  reservation: FastifyRequest['bodyReservation'],
  { dispatch, idempotency }: CallServices,
): DispatchedCall {
  if (call.kind === 'repeat') return attachCall(call.envelope, writer, { ...dispatch, idempotency })
  reservation?.hold()
  return dispatchCall(call, chat, writer, dispatch, () => reservation?.release())
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

async function send(
  writer: CompletionWriter,
  call: DispatchedCall,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const body = await Promise.race([writer.body, clientGone(reply, call)])
  // From here on the writer of a stream owns the connection.
  return body === null ? reply.hijack() : reply.type('application/json; charset=utf-8').send(body)
}

function streamTo(
  { envelope }: StartedCall,
  format: ResponseFormat,
  request: FastifyRequest,
  reply: FastifyReply,
  { clock, limits }: CallServices,
): StreamWriter {
  return new StreamWriter({
    envelope,
    format,
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

/** Resolves, and cancels the call, when the client leaves before the response is complete. */
function clientGone({ raw }: FastifyReply, call: DispatchedCall): Promise<null> {
  return new Promise((resolve) => {
    whenResponseCloses(raw, () => {
      if (raw.writableFinished) return
      call.cancel()
      resolve(null)
    })
  })
}
