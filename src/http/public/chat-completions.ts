import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  ChatBody,
  type ChatRequest,
  mediaParts,
  normalizeChatRequest,
  refuseLongText,
} from '../../core/calls/chat-request.ts'
import { CALL_PAYMENT_ACCOUNT } from '../../core/payments/x402.ts'
import { onStableChat } from '../../core/presets/apply-preset.ts'
import { CHAT_FORMAT } from '../calls/chat-format.ts'
import { type CallServices, type ServeOptions, serveCall } from '../calls/serve-call.ts'
import { callingKey, mayCall } from '../plugins/authenticate.ts'
import { type CallBody, withPreset } from './use-preset.ts'
import { askForKey, isGuest, type PaidCalls, payForCall, requireKeyOrPayment } from './x402-calls.ts'

/** POST /v1/chat/completions: validates, starts the call, relays its response. */
export const chatCompletionsRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { calls: deps } = app
    const { paidCalls, presetCache } = app.calls
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
        ...(paidCalls && { errorHandler: askForKey }),
      },
      async (request, reply) => {
        if (paidCalls && isGuest(request)) return servePaidChat(request, reply, deps, paidCalls)
        const used = await withPreset(request, presetCache, onStableChat)
        return serveCall(callingKey(request), ...readChat(used, request), request, reply, deps)
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
  { body: sent, exactJson }: ChatRouteRequest,
): [ChatRequest, ServeOptions] {
  const call = normalizeChatRequest(body, exactJson)
  // Requests whose schemas differ only in what parsing alters are different requests.
  const fingerprint = { ...sent, ...exactJson }
  return [call, { fingerprint, format: CHAT_FORMAT, preset, ignored: leftOut }]
}

/** Validates a chat completion without a key, and starts its call once it is paid. Throws ApiError. */
async function servePaidChat(
  request: ChatRouteRequest,
  reply: FastifyReply,
  deps: ChatServices,
  paidCalls: PaidCalls,
): Promise<FastifyReply> {
  const [call, options] = readChat({ body: request.body }, request)
  refuseLongText(mediaParts(call.content.messages), request.bodyBytes, deps.limits.textBodyLimitBytes)
  const shard = deps.pathOf(CALL_PAYMENT_ACCOUNT)
  const paid = await payForCall(call, request, reply, { ...paidCalls, admission: shard.admission })
  const { key, callId, plan, watch, admission } = paid
  try {
    return await serveCall(key, call, { ...options, callId, plan, watch }, request, reply, {
      ...deps,
      pathOf: () => ({ ...shard, admission }),
    })
  } catch (error) {
    await paid.failed(error)
    throw error
  }
}
