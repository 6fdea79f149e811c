import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Surface } from '../../core/api/surfaces/surface-registry.ts'
import { isAutoModel } from '../../core/auto/auto-routing.ts'
import { mediaParts, refuseLongText } from '../../core/calls/chat-request.ts'
import {
  CountTokensBody,
  MessagesBody,
  type NativeContent,
  parseCountRequest,
  parseMessagesRequest,
} from '../../core/calls/messages-request.ts'
import { type CatalogSnapshot, findByWireName, findModel } from '../../core/catalog/catalog.ts'
import { oncePer } from '../../core/kernel/once-per.ts'
import { mediaRules } from '../../core/media/media-rules.ts'
import { mediaTokens } from '../../core/media/media-tokens.ts'
import { messagesWireUnspoken, modelNotFound } from '../../core/routing/plan-refusal.ts'
import { countPromptTokens } from '../../providers/count-tokens.ts'
import { MESSAGES_FORMAT, messagesError } from '../calls/messages-format.ts'
import { callingKey, serveCall } from '../calls/serve-call.ts'
import { createSlots } from '../slots.ts'

/** Whether any provider speaks the messages wire. */
const isSpoken = oncePer(({ offers }: CatalogSnapshot): boolean =>
  [...offers.values()].some(({ provider }) => provider.wire === 'anthropic-messages'),
)

/** Sends errors in the wire's own format, and the request's id where its clients expect it. */
function speakNatively(request: FastifyRequest, reply: FastifyReply): void {
  request.errorBody = messagesError
  reply.header('request-id', request.id)
}

const betasOf = ({ headers }: FastifyRequest): string => [headers['anthropic-beta'] ?? []].flat().join(',')

/** POST /v1/messages: a call to a target that speaks the messages wire, in the wire's own format. */
export const messagesRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { catalog, callPath: deps } = app.services
    const natively = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
      if (isSpoken(catalog())) speakNatively(request, reply)
      done()
    }
    // Rejects keys that may not call models, and all calls if no provider speaks the wire, before reading the body.
    const mayCall = (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
      callingKey(request)
      if (!isSpoken(catalog())) throw messagesWireUnspoken('No provider of this gateway')
      request.refuseLimited()
      done()
    }
    app.post(
      path,
      {
        onRequest: [natively, app.requireMessagesKey, mayCall, app.weighBody],
        bodyLimit: deps.limits.bodyLimitBytes,
        schema: { summary: 'A message on the messages wire, whole or as a stream', body: MessagesBody },
      },
      async (request, reply) => {
        const asked = {
          call: parseMessagesRequest(request.body, betasOf(request)),
          // The same body on another surface is another request.
          fingerprint: [path, request.body],
          format: MESSAGES_FORMAT,
        }
        return serveCall(callingKey(request), asked, request, reply, deps)
      },
    )
  }

const COUNTS_MAX = 32
const COUNTS_PER_KEY_MAX = 4

/** POST /v1/messages/count_tokens: an estimate of the tokens of a prompt, by the gateway's own tokenizer. */
export const countTokensRoute =
  (path: string, { id }: Pick<Surface, 'id'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { catalog, limits } = app.services
    const natively = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
      speakNatively(request, reply)
      done()
    }
    const slots = createSlots({
      max: COUNTS_MAX,
      maxPerHolder: COUNTS_PER_KEY_MAX,
      holderIsFull: 'This key has as many counts running as it may. Wait for one to end.',
      allTaken: 'This gateway counts as many prompts as it can. Retry shortly.',
    })
    app.post(
      path,
      {
        onRequest: [app.requireMessagesKey, app.requireSurface(id), natively, app.weighBody],
        bodyLimit: limits.bodyLimitBytes,
        schema: {
          summary: 'The tokens of a prompt on the messages wire',
          body: CountTokensBody,
          response: { 200: Type.Object({ input_tokens: Type.Integer({ minimum: 0 }) }) },
        },
      },
      async (request) => {
        const { keyId } = callingKey(request)
        const call = parseCountRequest(request.body)
        refuseLongText(mediaParts(call.messages), request.bodyBytes, limits.textBodyLimitBytes)
        const media = likelyMedia(call, request.body.model ?? 'auto', catalog())
        return slots.run(keyId, async () => ({ input_tokens: await countPromptTokens(call, media) }))
      },
    )
  }

/** The likely media tokens of a prompt. Throws ApiError `model_not_found`. */
function likelyMedia({ messages }: NativeContent, asked: string, catalog: CatalogSnapshot) {
  const model = findModel(catalog, asked, 'chat') ?? findByWireName(catalog, asked, 'anthropic-messages')
  if (!model && !isAutoModel(asked)) throw modelNotFound([asked], [], catalog)
  const rules = model?.media ?? mediaRules(asked, '')
  return mediaTokens(mediaParts(messages), rules, model?.contextLength ?? Number.MAX_SAFE_INTEGER)
}
