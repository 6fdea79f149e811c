import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Surface } from '../../core/api/surfaces/surface-registry.ts'
import {
  ignoredMessagesFields,
  MessagesBody,
  parseMessagesRequest,
} from '../../core/calls/messages-request.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { oncePer } from '../../core/kernel/once-per.ts'
import { onMessages } from '../../core/presets/apply-preset.ts'
import { messagesWireUnspoken } from '../../core/routing/plan-refusal.ts'
import { stableMessagesError } from '../calls/messages-error.ts'
import { messagesFormat } from '../calls/messages-format.ts'
import { serveCall } from '../calls/serve-call.ts'
import { callingKey, mayCall } from '../plugins/authenticate.ts'
import { speakMessages } from '../plugins/messages-wire.ts'
import { withPreset } from './use-preset.ts'

/** It shows its user the text of a 400; of a 404 it says that the model is at fault. */
const isClaudeCode = ({ headers }: FastifyRequest): boolean =>
  /^claude-(cli|code)\//.test(headers['user-agent'] ?? '')

const baseUrlAtFault = () =>
  new ApiError(
    'invalid_request',
    'Under /v1 the gateway serves this model on another wire only. Let ANTHROPIC_BASE_URL end in /v2, which serves every model.',
  )

/** Whether any provider speaks the messages wire. */
const isSpoken = oncePer(({ offers }: CatalogSnapshot): boolean =>
  [...offers.values()].some(({ provider }) => provider.wire === 'anthropic-messages'),
)

const betasOf = ({ headers }: FastifyRequest): string => [headers['anthropic-beta'] ?? []].flat().join(',')

/**
 * POST /v2/messages: a call in the format of the messages wire, to any model. POST /v1/messages: the same, to a target
 * that speaks the wire.
 */
export const messagesRoute =
  (path: string, { isExtended: anyWire }: Surface): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { calls: deps } = app
    const { presetCache, reasoningBox } = app.calls
    const { snapshot: catalog } = app.catalog
    // Under /v1 the surface is unavailable while no provider speaks the wire, and its errors are those of every path.
    const natively = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
      if (!anyWire && (isSpoken(catalog()) || isClaudeCode(request)))
        speakMessages(request, reply, stableMessagesError)
      done()
    }
    if (!anyWire)
      app.setErrorHandler((error, request) => {
        const isClosed = error instanceof ApiError && error.code === 'surface_unavailable'
        throw isClosed && isClaudeCode(request) ? baseUrlAtFault() : error
      })
    // Rejects keys that may not call models, and all calls if no provider speaks the wire, before reading the body.
    const maySpeak = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
      callingKey(request)
      if (!anyWire && !isSpoken(catalog())) throw messagesWireUnspoken('No provider of this gateway')
      mayCall(request, reply, done)
    }
    app.post(
      path,
      {
        onRequest: [natively, app.requireMessagesKey, maySpeak, app.weighBody],
        bodyLimit: deps.limits.bodyLimitBytes,
        schema: { summary: 'A message on the messages wire, whole or as a stream', body: MessagesBody },
      },
      async (request, reply) => {
        const { body, preset, leftOut = [] } = await withPreset(request, presetCache, onMessages)
        const key = callingKey(request)
        const open = reasoningBox.opener(key.accountId)
        const call = parseMessagesRequest(body, {
          betaHeader: betasOf(request),
          anyWire,
          open,
          sentJson: request.sentJson,
        })
        const options = {
          // The same body on another surface is another request.
          fingerprint: [path, request.body],
          format: messagesFormat(reasoningBox.sealer(key.accountId)),
          preset,
          ignored: [...leftOut, ...ignoredMessagesFields(request.body, { anyWire })],
        }
        return serveCall(key, call, options, request, reply, deps)
      },
    )
  }
