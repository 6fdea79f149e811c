import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { ChatBody, type ChatRequest, normalizeChatRequest } from '../../core/calls/chat-request.ts'
import { CHAT_FORMAT } from '../calls/chat-format.ts'
import { type CallBody, type CallServices, type ServeOptions, serveCall } from '../calls/serve-call.ts'
import { callingKey, mayCall } from '../plugins/authenticate.ts'

/** What the route asks of what stands beside the way of a call. */
export interface ChatHooks {
  /** The body with the preset that its `model` names. */
  readBody: (request: ChatRouteRequest) => Promise<CallBody<ChatBody>>
  /** How requests without a key are served. Null: every call needs a key. */
  guests: ChatGuests | null
}

export interface ChatGuests extends Required<Pick<RouteOptions, 'errorHandler'>> {
  /** An onRequest hook instead of `requireKey`. */
  requireKeyOrPayment: FastifyInstance['requireKey']
  isGuest: (request: FastifyRequest) => boolean
  serve: (
    request: FastifyRequest,
    reply: FastifyReply,
    call: ChatRequest,
    options: ServeOptions,
  ) => Promise<FastifyReply>
}

/** POST /v1/chat/completions: validates, starts the call, relays its response. */
export const chatCompletionsRoute =
  (hooksOf: (app: FastifyInstance) => ChatHooks) =>
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { calls: deps } = app
    const { readBody, guests } = hooksOf(app)
    app.post(
      path,
      {
        onRequest: [guests?.requireKeyOrPayment ?? app.requireKey, mayCall, app.weighBody],
        bodyLimit: deps.limits.bodyLimitBytes,
        schema: { summary: 'A chat completion, whole or as a stream', body: ChatBody },
        ...(guests && { errorHandler: guests.errorHandler }),
      },
      async (request, reply) => {
        if (guests?.isGuest(request))
          return guests.serve(request, reply, ...readChat({ body: request.body }, request))
        const read = readChat(await readBody(request), request)
        return serveCall(callingKey(request), ...read, request, reply, deps)
      },
    )
  }

export interface ChatServices extends CallServices {
  limits: CallServices['limits'] & { bodyLimitBytes: number }
}

type ChatRouteRequest = FastifyRequest & { body: ChatBody }

/** The call of a chat's request, and how it is served. */
function readChat(
  { body, preset, leftOut }: CallBody<ChatBody>,
  { body: sent, exactJson, sentJson }: ChatRouteRequest,
): [ChatRequest, ServeOptions] {
  const call = normalizeChatRequest(body, exactJson, sentJson)
  // Requests whose schemas differ only in what parsing alters are different requests.
  const fingerprint = { ...sent, ...exactJson }
  return [call, { fingerprint, format: CHAT_FORMAT, preset, ignored: leftOut }]
}
