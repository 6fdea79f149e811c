import { feeRate, feeRateVersion } from './byok.ts'
import type { Candidate } from './call-job.ts'
import type { Model, Offer } from './catalog.ts'
import type { ChatRequest, ProviderPreferences } from './chat-request.ts'
import type { RequestShape } from './request-shape.ts'

/** The bound of a prompt's tokens comes out at about so many times their count, for prose. */
const BOUND_PER_TOKEN = 1.8

/**
 * Whether a prompt can be within an offer's window, and is likely to be within the part of it that its rate covers.
 * @param promptTokensPaidBound a bound of what we pay the provider for; 0 where it bills the client
 */
export function fits(offer: Offer, shape: RequestShape, promptTokensPaidBound: number): boolean {
  const { contextLength = Number.POSITIVE_INFINITY, coveredTokens = Number.POSITIVE_INFINITY } = offer
  return shape.promptTokensAtLeast < contextLength && promptTokensPaidBound <= coveredTokens * BOUND_PER_TOKEN
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
  promptTokens: number,
  { defaultCompletionLimit, byokFeePercent }: { defaultCompletionLimit: number; byokFeePercent: number },
): Candidate | null {
  const wanted = request.completionLimit ?? defaultCompletionLimit
  const limit = limitUnderCap(
    Math.min(wanted, model.maxOutputTokens, offer.maxOutputTokens ?? model.maxOutputTokens),
    model,
    promptTokens,
    request.preferences,
  )
  if (limit < 1) return null
  const isOwn = providerKeyId !== null
  const rate = isOwn ? feeRate(model.rate, byokFeePercent) : model.rate
  return {
    offerId: offer.id,
    modelId: model.id,
    requestedModel: asked,
    rate: { prompt: String(rate.prompt), completion: String(rate.completion) },
    rateVersion: isOwn ? feeRateVersion(model, byokFeePercent) : model.rateVersion,
    contextLength: Math.min(model.contextLength, offer.contextLength ?? model.contextLength),
    completionLimit: limit,
    reasoning: model.reasoning,
    ...privacyOf(request.preferences),
    ...(isOwn && { providerKeyId }),
  }
}

function privacyOf({ zdr, dataCollection }: ProviderPreferences): Pick<Candidate, 'privacy'> {
  const denyDataCollection = dataCollection === 'deny'
  return zdr || denyDataCollection ? { privacy: { zdr, denyDataCollection } } : {}
}

function limitUnderCap(
  limit: number,
  model: Model,
  promptTokens: number,
  preferences: ProviderPreferences,
): number {
  const cap = preferences.maxPrice.request
  if (cap === undefined) return limit
  const left = cap - BigInt(promptTokens) * model.rate.prompt
  if (left < 0n) return 0
  if (model.rate.completion === 0n) return limit
  const affordable = left / model.rate.completion
  return affordable < BigInt(limit) ? Number(affordable) : limit
}
