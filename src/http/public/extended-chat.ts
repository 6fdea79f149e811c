import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  ExtendedBody,
  fieldsWithoutEffect,
  normalizeExtendedRequest,
} from '../../core/calls/extended-request.ts'
import { extendedFormat } from '../calls/extended-format.ts'
import { callingKey, mayCall, serveCall } from '../calls/serve-call.ts'

/** POST /v2/chat/completions: like /v1 with tool loops and more fields; held, routed and charged the same way. */
export const extendedChatRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const deps = app.services.callPath
    app.post(
      path,
      {
        onRequest: [app.requireKey, mayCall, app.weighBody],
        bodyLimit: deps.limits.bodyLimitBytes,
        schema: {
          summary: 'A chat completion of the extended contract, whole or as a stream',
          body: ExtendedBody,
        },
      },
      async (request, reply) => {
        const { body, exactJson } = request
        const asked = {
          call: normalizeExtendedRequest(body, exactJson),
          // The same body is another request on another surface.
          fingerprint: { surface: path, body: { ...body, ...exactJson } },
          ignored: fieldsWithoutEffect(body),
          format: extendedFormat({ includeUsage: body.stream_options?.include_usage === true }),
        }
        return serveCall(callingKey(request), asked, request, reply, deps)
      },
    )
  }
