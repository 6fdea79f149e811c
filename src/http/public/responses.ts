import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { normalizeResponsesRequest, ResponsesBody } from '../../core/calls/responses-request.ts'
import { responsesFormat } from '../calls/responses-format.ts'
import { callingKey, mayCall, serveCall } from '../calls/serve-call.ts'

/** POST /v1/responses: one stateless turn, as an extended call. */
export const responsesRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const deps = app.services.callPath
    app.post(
      path,
      {
        onRequest: [app.requireKey, app.requireSurface('responses'), mayCall, app.weighBody],
        bodyLimit: deps.limits.bodyLimitBytes,
        schema: { summary: 'One stateless response, whole or as typed events', body: ResponsesBody },
      },
      async (request, reply) => {
        const { body } = request
        const call = normalizeResponsesRequest(body)
        const fingerprint = { surface: path, body }
        const asked = { call, fingerprint, format: responsesFormat(call) }
        return serveCall(callingKey(request), asked, request, reply, deps)
      },
    )
  }
