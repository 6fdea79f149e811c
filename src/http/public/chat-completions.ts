import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { ChatBody } from '../../core/calls/chat-request.ts'
import { standardKey } from '../asking-account.ts'
import { type CallServices, serveCall } from '../serve-call.ts'

const callingKey = (request: FastifyRequest) =>
  standardKey(request, 'Admin keys cannot call models. Use a standard key.')

/** POST /v1/chat/completions: validate, start the call, relay its answer. */
export const chatCompletionsRoute =
  (path: string): FastifyPluginAsyncTypebox<CallServices & { limits: { bodyLimitBytes: number } }> =>
  async (app, deps) => {
    // Who may not call models hears so before the body is read.
    const mayCall = async (request: FastifyRequest) => void callingKey(request)
    app.post(
      path,
      {
        onRequest: [app.requireKey, mayCall, app.weighBody],
        bodyLimit: deps.limits.bodyLimitBytes,
        schema: { summary: 'A chat completion, whole or as a stream', body: ChatBody },
      },
      async (request, reply) => serveCall(callingKey(request), request.body, request, reply, deps),
    )
  }
