import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ExtendedBody, ignoredFields, normalizeExtendedRequest } from '../../core/calls/extended-request.ts'
import { asksForFunctions } from '../../core/calls/field-spellings.ts'
import { onChat } from '../../core/presets/apply-preset.ts'
import { extendedFormat } from '../calls/extended-format.ts'
import { serveCall } from '../calls/serve-call.ts'
import { callingKey, mayCall } from '../plugins/authenticate.ts'
import { withPreset } from './use-preset.ts'

/** POST /v2/chat/completions: like /v1 with tool loops and more fields; held, routed and charged the same way. */
export const extendedChatRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { calls: deps } = app
    const { presetCache, reasoningBox } = app.calls
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
        const { body: sent, exactJson, sentJson } = request
        const { body, preset } = await withPreset(request, presetCache, onChat)
        const key = callingKey(request)
        const call = normalizeExtendedRequest(body, exactJson, reasoningBox.opener(key.accountId), sentJson)
        const options = {
          // The same body is another request on another surface.
          fingerprint: { surface: path, body: { ...sent, ...exactJson } },
          ignored: ignoredFields(sent),
          preset,
          format: extendedFormat({
            includeUsage: body.stream_options?.include_usage ?? null,
            asFunctions: asksForFunctions(body),
            seal: reasoningBox.sealer(key.accountId),
          }),
        }
        return serveCall(key, call, options, request, reply, deps)
      },
    )
  }
