import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Surface } from '../../core/api/surfaces/surface-registry.ts'
import { isAutoModel } from '../../core/auto/routing-profiles.ts'
import { mediaParts } from '../../core/calls/chat-request.ts'
import { kindOf } from '../../core/calls/kinds/call-kinds.ts'
import { CountTokensBody, type NativeContent, parseCountRequest } from '../../core/calls/messages-request.ts'
import { type CatalogSnapshot, findByWireName, findModel, type Model } from '../../core/catalog/catalog.ts'
import { mediaRules } from '../../core/media/media-rules.ts'
import { mediaTokens, sumOfTokens } from '../../core/media/media-tokens.ts'
import { onTokenCount } from '../../core/presets/apply-preset.ts'
import { modelNotFound } from '../../core/routing/plan-refusal.ts'
import { countPrompt } from '../../providers/count-tokens.ts'
import { stableMessagesError } from '../calls/messages-error.ts'
import { refuseLongPrompt } from '../calls/serve-call.ts'
import { callingKey } from '../plugins/authenticate.ts'
import { speakMessages } from '../plugins/messages-wire.ts'
import { createSlots } from '../slots.ts'
import { withPreset } from './use-preset.ts'

const COUNTS_MAX = 32
const COUNTS_PER_ACCOUNT_MAX = 4

/** Models whose tokenizer is o200k_base, by their developer's documentation. */
const COUNTED_EXACTLY = /^(gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|chatgpt-4o|o[134])(-|\.|$)/

/**
 * POST /v2/messages/count_tokens: the tokens of a prompt, without a provider; the header `x-token-count` says whether
 * they are `exact` or an `upper-bound`. POST /v1/messages/count_tokens: an estimate by the gateway's own tokenizer.
 */
export const countTokensRoute =
  (path: string, { id, isExtended }: Surface): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { limits, presetCache } = app.calls
    const { snapshot: catalog } = app.catalog
    const slots = createSlots({
      max: COUNTS_MAX,
      maxPerHolder: COUNTS_PER_ACCOUNT_MAX,
      holderIsFull: 'This account has as many counts running as it may. Wait for one to end.',
      allTaken: 'This gateway counts as many prompts as it can. Retry shortly.',
    })
    const natively = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
      if (!isExtended) speakMessages(request, reply, stableMessagesError)
      done()
    }
    app.post(
      path,
      {
        onRequest: [app.requireMessagesKey, app.requireSurface(id), natively, mayCount, app.weighBody],
        bodyLimit: limits.bodyLimitBytes,
        schema: {
          summary: 'The tokens of a prompt on the messages wire',
          body: CountTokensBody,
          response: { 200: Type.Object({ input_tokens: Type.Integer({ minimum: 0 }) }) },
        },
      },
      async (request, reply) => {
        const { accountId } = callingKey(request)
        const { body } = await withPreset(request, presetCache, onTokenCount)
        const call = parseCountRequest(body, isExtended === true)
        refuseLongPrompt(call, request, limits)
        const model = modelOf(body.model ?? 'auto', catalog())
        request.meter(accountId, request.bodyBytes)
        return slots.run(accountId, async () => {
          const { tokens, isExact } = await countFor(call, model, isExtended)
          if (isExtended) reply.header('x-token-count', isExact ? 'exact' : 'upper-bound')
          return { input_tokens: tokens }
        })
      },
    )
  }

/** Refuses an admin key before the body is weighed. */
const mayCount = (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
  callingKey(request)
  done()
}

/** Null for `auto`. Throws ApiError `model_not_found`. */
function modelOf(asked: string, catalog: CatalogSnapshot): Model | null {
  const model = findModel(catalog, asked, 'chat') ?? findByWireName(catalog, asked, 'anthropic-messages')
  if (!model && !isAutoModel(asked)) throw modelNotFound([asked], [], catalog)
  return model
}

/** The tokens of a prompt at a model. Where they are not exact, an upper bound if one is asked for, or an estimate. */
async function countFor(call: NativeContent, model: Model | null, isBounded: boolean) {
  const parts = mediaParts(call.messages)
  const window = model?.contextLength ?? Number.MAX_SAFE_INTEGER
  const media = parts.length > 0 ? mediaTokens(parts, model?.media ?? mediaRules('', ''), window) : undefined
  const isKnown = model !== null && COUNTED_EXACTLY.test(model.id)
  if (isKnown || !isBounded) {
    const { tokens, isExact } = await countPrompt(call, media)
    if (!isBounded || isExact) return { tokens, isExact }
  }
  const tokens = kindOf(call).needs(call).prompt.textTokens + sumOfTokens(media?.bound)
  return { tokens, isExact: false }
}
