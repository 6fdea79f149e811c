import { mostPromptCost } from '../billing/pricing.ts'
import type { Candidate } from '../calls/call-job.ts'
import type { ChatRequest, ProviderPreferences } from '../calls/chat-request.ts'
import type { MediaPart } from '../calls/content-part.ts'
import { promptBoundOf } from '../calls/prompt-tokens.ts'
import type { Model, Offer } from '../catalog/catalog.ts'
import { rateTexts } from '../catalog/token-rates.ts'
import type { PicoUsd } from '../kernel/money.ts'
import { type MediaTokens, mediaTokens, sumOfTokens } from '../media/media-tokens.ts'
import { feeRate, feeRateVersion } from './byok.ts'
import { pricedMediaOf, type RequestShape } from './request-shape.ts'

/** The bound of a prompt's tokens comes out at about so many times their count: 1.8 for prose, 2.2 for code. */
const BOUND_PER_TOKEN = 2

/** The tokens of a prompt, as far as they are known before a model is. */
export interface PromptSize {
  /** A bound of those of the text. */
  textTokens: number
  /** No tokenizer makes fewer of the text. */
  textTokensAtLeast: number
  media: readonly MediaPart[]
}

/** What an offer makes of a prompt, in tokens. */
export interface PromptTokens {
  /** No more than this, text and media together. */
  bound: number
  /** No fewer than this. */
  atLeast: number
  /** Of the text, a bound; see BOUND_PER_TOKEN. */
  text: number
  /** Tokens of prompt and completion together that the provider takes. */
  window: number
  /** Absent where the prompt has none. */
  media?: MediaTokens
}

/** What an offer makes of a prompt: never more than its provider's window, beyond which a prompt is refused. */
export function promptTokensAt(offer: Offer, model: Model, prompt: PromptSize): PromptTokens {
  const { textTokens, textTokensAtLeast: atLeast, media } = prompt
  const window = offer.providerContextLength ?? offer.contextLength ?? model.contextLength
  const text = { text: textTokens, atLeast, window }
  if (media.length === 0) return { ...text, bound: Math.min(textTokens, window) }
  const tokens = mediaTokens(media, model.media, window)
  return { ...text, bound: Math.min(textTokens + sumOfTokens(tokens.bound), window), media: tokens }
}

/**
 * Whether a prompt can be within an offer's window, and is likely to be within the part of it that its rate covers.
 * @param paid what we pay the provider for; null where it bills the client
 */
export function fits(offer: Offer, shape: RequestShape, paid: PromptTokens | null): boolean {
  const { contextLength = Number.POSITIVE_INFINITY, coveredTokens = Number.POSITIVE_INFINITY } = offer
  if (shape.promptTokensAtLeast >= contextLength) return false
  if (paid === null) return true
  if (offer.lossMedia && pricedMediaOf(shape).some((media) => offer.lossMedia?.includes(media))) return false
  return paid.text <= (coveredTokens - sumOfTokens(paid.media?.likely)) * BOUND_PER_TOKEN
}

/** An offer, and the client's own key that it is to be used with; null: with ours. */
export interface Target {
  offer: Offer
  providerKeyId: string | null
}

/** The candidate with the completion limit it gets, or null when not one token fits under the price cap. */
export function toCandidate(
  { asked, model }: { asked: string; model: Model },
  { offer, providerKeyId }: Target,
  request: ChatRequest,
  promptTokens: PromptTokens,
  { defaultCompletionLimit, byokFeePercent }: { defaultCompletionLimit: number; byokFeePercent: number },
): Candidate | null {
  const wanted = request.completionLimit ?? defaultCompletionLimit
  const most = Math.min(wanted, model.maxOutputTokens, offer.maxOutputTokens ?? model.maxOutputTokens)
  const limit = limitUnderCap(
    limitBeside(promptTokens, most),
    model,
    mostPromptCost(
      promptBoundOf({ promptTokensBound: promptTokens.bound, media: promptTokens.media }),
      model.rate,
    ),
    request.preferences,
  )
  if (limit < 1) return null
  const isOwn = providerKeyId !== null
  const rate = isOwn ? feeRate(model.rate, byokFeePercent) : model.rate
  return {
    offerId: offer.id,
    modelId: model.id,
    requestedModel: asked,
    rate: rateTexts(rate),
    rateVersion: isOwn ? feeRateVersion(model, byokFeePercent) : model.rateVersion,
    contextLength: Math.min(model.contextLength, offer.contextLength ?? model.contextLength),
    promptTokensBound: promptTokens.bound,
    ...(promptTokens.media && { media: promptTokens.media }),
    completionLimit: limit,
    reasoning: model.reasoning,
    ...privacyOf(request.preferences),
    ...(isOwn && { providerKeyId }),
  }
}

/**
 * The completion limit that leaves the prompt its place in the window, or most of it: providers refuse a call whose
 * prompt and limit exceed it together. Where the prompt's bound leaves less than half of what is wanted the prompt is
 * likely to leave more, and the limit that is sent is found when it is counted (src/calls/attempts/attempt.ts).
 */
function limitBeside({ bound, atLeast, window }: PromptTokens, wanted: number): number {
  const sure = window - bound
  if (sure >= wanted) return wanted
  return sure * 2 >= wanted ? sure : Math.min(wanted, window - atLeast)
}

function privacyOf({ zdr, dataCollection }: ProviderPreferences): Pick<Candidate, 'privacy'> {
  const denyDataCollection = dataCollection === 'deny'
  return zdr || denyDataCollection ? { privacy: { zdr, denyDataCollection } } : {}
}

function limitUnderCap(
  limit: number,
  model: Model,
  promptCost: PicoUsd,
  preferences: ProviderPreferences,
): number {
  const cap = preferences.maxPrice.request
  if (cap === undefined) return limit
  const left = cap - promptCost
  if (left < 0n) return 0
  if (model.rate.completion === 0n) return limit
  const affordable = left / model.rate.completion
  return affordable < BigInt(limit) ? Number(affordable) : limit
}
