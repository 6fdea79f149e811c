import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Surface } from '../../core/api/surfaces/surface-registry.ts'
import { normalizeResponsesRequest, ResponsesBody } from '../../core/calls/responses-request.ts'
import { ResponsesFormat } from '../calls/responses-format.ts'
import { callingKey, mayCall, serveCall } from '../calls/serve-call.ts'

const ENCRYPTED_REASONING = 'reasoning.encrypted_content'

/** POST /v1/responses, and under /v2: one stateless turn, as an extended call. */
export const responsesRoute =
  (path: string, { id }: Pick<Surface, 'id'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const deps = app.services.callPath
    const { reasoningBox } = app.services
    app.post(
      path,
      {
        onRequest: [app.requireKey, app.requireSurface(id), mayCall, app.weighBody],
        bodyLimit: deps.limits.bodyLimitBytes,
        schema: { summary: 'One stateless response, whole or as typed events', body: ResponsesBody },
      },
      async (request, reply) => {
        const { body } = request
        const key = callingKey(request)
        const context = { history: [], openReasoning: reasoningBox.opener(key.accountId) }
        const { call, customTools, ignored } = normalizeResponsesRequest(body, context)
        const sealReasoning = body.include?.includes(ENCRYPTED_REASONING)
          ? reasoningBox.sealer(key.accountId)
          : undefined
        const echoed = { background: false, metadata: null, previous_response_id: null }
        const format = new ResponsesFormat(call, { customTools, sealReasoning }, echoed, false)
        const fingerprint = { surface: path, body }
        return serveCall(key, { call, fingerprint, format, ignored }, request, reply, deps)
      },
    )
  }
