import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { AdmissionRefused, type AdmittedCall, admitCall } from '../../admission/admit-call.ts'
import { type DispatchedCall, dispatchCall } from '../../admission/dispatch-call.ts'
import type { CallEnvelope } from '../../core/call-job.ts'
import { type ChatRequest, parseChatRequest } from '../../core/chat-request.ts'
import { ApiError } from '../../core/errors.ts'
import type { AppDependencies } from '../app.ts'
import type { StandardKey } from '../plugins/authenticate.ts'
import { ReplyCollector } from '../reply-collector.ts'
import { StreamWriter } from '../stream-writer.ts'

/** POST /v1/chat/completions: validate, admit, dispatch, relay. */
export const chatCompletionsRoute =
  (path: string): FastifyPluginAsync<AppDependencies> =>
  async (app, deps) => {
    app.post(path, { onRequest: [app.requireKey] }, async (request, reply) => {
      const key = callingKey(request)
      const chat = parseChatRequest(request.body)
      if (deps.dispatch.hub.size >= deps.limits.pendingCallsMax) {
        throw new ApiError('overloaded', 'This gateway serves as many calls as it can. Retry shortly.', {
          retryAfterSeconds: 1,
        })
      }
      const { envelope, rate } = await admit(chat, key, request, deps)
      request.noteRate(rate)
      return chat.stream
        ? streamAnswer(chat, envelope, request, reply, deps)
        : wholeAnswer(chat, envelope, reply, deps)
    })
  }

function callingKey({ key }: FastifyRequest): StandardKey {
  if (key?.kind === 'standard' && key.accountId !== null) return key as StandardKey
  throw new ApiError('not_permitted', 'Admin keys cannot call models. Use a standard key.')
}

async function admit(
  chat: ChatRequest,
  key: StandardKey,
  request: FastifyRequest,
  { admission, dispatch }: AppDependencies,
): Promise<AdmittedCall> {
  try {
    return await admitCall(chat, key, request.id, admission)
  } catch (error) {
    if (error instanceof AdmissionRefused) request.noteRate(error.rate)
    if (error instanceof ApiError) throw error
    // The gate could not be asked: nothing is admitted unheld.
    dispatch.logger.error({ err: error, requestId: request.id }, 'admission failed')
    throw new ApiError('overloaded', 'The gateway cannot take calls right now. Retry shortly.', {
      retryAfterSeconds: 1,
    })
  }
}

async function wholeAnswer(
  chat: ChatRequest,
  envelope: CallEnvelope,
  reply: FastifyReply,
  deps: AppDependencies,
): Promise<FastifyReply> {
  const collector = new ReplyCollector(envelope)
  const call = dispatchCall(envelope, chat, collector, deps.dispatch)
  const body = await Promise.race([collector.body, clientGone(reply, call)])
  return body === GONE ? reply.hijack() : reply.type('application/json; charset=utf-8').send(body)
}

async function streamAnswer(
  chat: ChatRequest,
  envelope: CallEnvelope,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: AppDependencies,
): Promise<FastifyReply> {
  const writer = new StreamWriter({
    envelope,
    response: reply.raw,
    requestId: request.id,
    commit: () => commitStream(request, reply),
    keepAliveMs: deps.limits.keepAliveMs,
    maxBufferedBytes: deps.limits.slowClientBufferBytes,
    hangUp: () => call.hangUp(),
    nowMs: deps.dispatch.clock(),
  })
  const call: DispatchedCall = dispatchCall(envelope, chat, writer, deps.dispatch)
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
    raw.once('close', () => {
      if (raw.writableFinished) return
      call.hangUp()
      resolve(GONE)
    })
  })
}
