import { costOf, mostPromptCost } from '../billing/pricing.ts'
import { ratesAt, tierPrice } from '../billing/service-tier.ts'
import type { Candidate } from '../calls/call-job.ts'
import type { RequestOf } from '../calls/call-request.ts'
import type { CallNeeds, PromptSize, ResultNeeds } from '../calls/kinds/call-kind.ts'
import type { PassedFields } from '../calls/passed-fields.ts'
import type { ProviderPreferences } from '../calls/provider-preferences.ts'
import { type ProviderTools, READINGS_MAX, usesAt } from '../calls/provider-tools.ts'
import {
  type CatalogSnapshot,
  isAvailable,
  type Model,
  type Offer,
  type PricedMedia,
  type TokenRates,
  type UseKind,
} from '../catalog/catalog.ts'
import { mapRates, rateTexts, withoutCache, withoutExtras } from '../catalog/token-rates.ts'
import { type PicoUsd, ZERO_USD } from '../kernel/money.ts'
import { oncePer } from '../kernel/once-per.ts'
import { type MediaTokens, mediaTokens, sumOfTokens } from '../media/media-tokens.ts'
import { addedTokens } from '../text-tokens/added-tokens.ts'
import { PROMPT_TOKENS_LEAST, promptBoundOf } from '../text-tokens/prompt-tokens.ts'
import { LEAST_CACHED_TOKENS } from './likely-cost.ts'
import { leastLimit, takesField } from './supported-parameters.ts'

/** Whether a model accepts every kind of input of a request, in the way it is sent. */
export const takesInput = (model: Model, { modalities, byAddress }: CallNeeds): boolean =>
  modalities.every((modality) => model.inputModalities.includes(modality)) &&
  byAddress.every((modality) => model.media.byAddress.includes(modality))

/** The typical ratio of the bound on a prompt's tokens to their count: 1.8 for prose, 2.2 for code. */
const BOUND_PER_TOKEN = 2

/** Whether a prompt probably has the tokens that providers cache. */
export const isLong = ({ textTokens }: PromptSize): boolean =>
  textTokens >= LEAST_CACHED_TOKENS * BOUND_PER_TOKEN

/** The tools that an offer's provider runs for a call; undefined: none. */
const toolsAt = (
  offer: Offer,
  model: Model,
  { providerTools, wire }: Pick<CallNeeds, 'providerTools' | 'wire'>,
): ProviderTools | undefined => {
  if (offer.provider.wire !== wire) return undefined
  return typeof providerTools === 'function' ? providerTools(offer, model) : providerTools
}

/** The times that an offer's provider may count the prompt. */
function readingsAt(offer: Offer, model: Model, needs: Parameters<typeof toolsAt>[2]): number {
  const tools = toolsAt(offer, model, needs)
  if (tools === undefined) return 1
  return tools.fillsWindow ? Number.POSITIVE_INFINITY : READINGS_MAX
}

/** The tokens of a prompt at an offer. */
export interface PromptTokens {
  /** Upper bound of text and media together. */
  bound: number
  /** Lower bound. */
  atLeast: number
  /** Upper bound of the text; see BOUND_PER_TOKEN. */
  text: number
  /** The provider's limit on tokens of prompt and completion together. */
  window: number
  /** Absent if the prompt has none. */
  media?: MediaTokens
}

/**
 * The tokens of a prompt at an offer: at most its provider's window, because the provider refuses longer prompts.
 * @param learned tokens that the offer was seen to add
 */
export function promptTokensAt(
  offer: Offer,
  model: Model,
  needs: Pick<CallNeeds, 'prompt' | 'providerTools' | 'wire'>,
  learned: number,
): PromptTokens {
  const { textTokens, textTokensAtLeast: atLeast, media, inputs } = needs.prompt
  const readings = readingsAt(offer, model, needs)
  const window = offer.providerContextLength ?? offer.contextLength ?? model.contextLength
  const text = { text: textTokens, atLeast, window }
  const most = readings * (textTokens + Math.max(learned, addedTokens(model)))
  if (media.length === 0) return { ...text, bound: Math.min(most, inputs * window) }
  const tokens = mediaTokens(media, model.media, window)
  const bound = Math.min(most + readings * Math.max(1, sumOfTokens(tokens.bound)), window)
  return { ...text, bound, media: tokens }
}

/**
 * Whether a prompt can be within an offer's window, and probably is within the part of it that its rate covers.
 * @param media the media of the prompt that may have separate prices
 * @param paid the rate that we pay the provider; null if it bills the client
 */
export function fits(
  offer: Offer,
  { textTokensAtLeast }: PromptSize,
  media: readonly PricedMedia[],
  paid: PromptTokens | null,
): boolean {
  const { contextLength = Number.POSITIVE_INFINITY, coveredTokens = Number.POSITIVE_INFINITY } = offer
  if (textTokensAtLeast >= contextLength) return false
  if (paid === null) return true
  if (media.some((one) => offer.lossMedia?.includes(one))) return false
  return paid.text <= (coveredTokens - sumOfTokens(paid.media?.likely)) * BOUND_PER_TOKEN
}

/**
 * The candidate with its completion limit, or null if not one token fits under the price cap. `providerKeyId`: the
 * client's BYOK key to use; null: a platform key.
 */
export function toCandidate(
  { name, model }: { name: string; model: Model },
  { offer, providerKeyId }: { offer: Offer; providerKeyId: string | null },
  { completionLimit, preferences }: Pick<RequestOf<unknown>, 'completionLimit' | 'preferences'>,
  needs: CallNeeds,
  promptTokens: PromptTokens,
  { defaultCompletionLimit, byokFeePercent }: { defaultCompletionLimit: number; byokFeePercent: number },
): Candidate | null {
  const { pricesCache, result, prompt, passed } = needs
  const isOwn = providerKeyId !== null
  // On the client's BYOK key the provider's cache costs us nothing.
  const cached = pricesCache && (isOwn || !offer.lossCache) ? model.rate : withoutCache(model.rate)
  const tools = toolsAt(offer, model, needs)
  const uses = tools && usesAt(offer.provider, tools)
  const hour = needs.cachesHour && offer.provider.wire === needs.wire ? cached.cacheWriteHour : undefined
  const usual =
    uses || hour !== undefined
      ? {
          ...withoutExtras(cached),
          ...(hour !== undefined && { cacheWriteHour: hour }),
          ...(uses && ratesOfUses(cached, uses)),
        }
      : withoutExtras(cached)
  const tier = isOwn ? null : tierWithin(offer, passed, usual, preferences)
  const listed = tier && tier.percent > 100 ? ratesAt(usual, tier.percent) : usual
  const units = result && unitsOf(model, result)
  const image = result?.image?.(model)
  const least = result ? 0 : leastLimit(offer.provider)
  const wanted = Math.max(least, completionLimit ?? defaultCompletionLimit)
  const most = Math.min(wanted, model.maxOutputTokens, offer.maxOutputTokens ?? model.maxOutputTokens)
  const limit = limitUnderCap(
    limitBeside(promptTokens, most),
    listed,
    mostPromptCost(
      promptBoundOf({ promptTokensBound: promptTokens.bound, media: promptTokens.media, ...units, uses }),
      listed,
    ),
    preferences,
  )
  if (limit === null || limit < least) return null
  const rate = isOwn ? feeRate(listed, byokFeePercent) : listed
  return {
    offerId: offer.id,
    modelId: model.id,
    requestedModel: name,
    rate: rateTexts(rate),
    rateVersion: isOwn ? feeRateVersion(model, byokFeePercent) : model.rateVersion,
    ...(tier && { tier: { ...tier, usual: rateTexts(usual) } }),
    contextLength:
      (uses ? READINGS_MAX : prompt.inputs) *
      Math.min(model.contextLength, offer.contextLength ?? model.contextLength),
    promptTokensBound: promptTokens.bound,
    ...(promptTokens.media && { media: promptTokens.media }),
    ...units,
    ...(uses && { uses }),
    ...(image && { image }),
    completionLimit: limit,
    reasoning: model.reasoning || result?.comesWhole === true,
    ...privacyOf(preferences),
    ...(isOwn && { providerKeyId }),
  }
}

/** The price of the tier that is asked for, if it is within the request's maximum. */
function tierWithin(
  offer: Offer,
  passed: PassedFields | undefined,
  usual: TokenRates,
  { maxPrice: { prompt, completion } }: ProviderPreferences,
): ReturnType<typeof tierPrice> {
  const tier = takesField(offer.provider, 'service_tier') ? tierPrice(offer, passed) : null
  if (tier === null || tier.percent <= 100) return tier
  const rate = ratesAt(usual, tier.percent)
  const isWithin = (price: bigint, most: bigint | undefined) => most === undefined || price <= most
  return isWithin(rate.prompt, prompt) && isWithin(rate.completion, completion) ? tier : null
}

/** The rates of the uses that a call may be charged for. */
const ratesOfUses = (
  { webSearch, codeExecution }: TokenRates,
  uses: NonNullable<Candidate['uses']>,
): Pick<TokenRates, UseKind> => ({
  ...(uses.webSearches > 0 && webSearch !== undefined && { webSearch }),
  ...(uses.codeExecutions > 0 && codeExecution !== undefined && { codeExecution }),
})

/** The maximum units of a result at a model that counts any. */
function unitsOf(model: Model, result: ResultNeeds): Pick<Candidate, 'units'> {
  const { unit, leastUnits: least } = model
  if (unit === undefined) return {}
  const bound = Math.max(result.unitsBound(model), least ?? 0)
  return { units: { kind: unit, bound, ...(least !== undefined && { least }) } }
}

/**
 * The completion limit that leaves space for the prompt in the window, since providers refuse a call whose prompt and
 * limit exceed it together. If the prompt's bound leaves less than half of the wanted limit, the prompt probably leaves
 * more, and the sent limit is computed when it is counted (src/calls/worker/attempts/fitting-window.ts).
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
  rate: TokenRates,
  promptCost: PicoUsd,
  preferences: ProviderPreferences,
): number | null {
  const cap = preferences.maxPrice.request
  if (cap === undefined) return limit
  const left = cap - promptCost
  if (left < 0n) return null
  if (rate.completion === 0n) return limit
  const affordable = left / rate.completion
  return affordable < BigInt(limit) ? Number(affordable) : limit
}

/**
 * Our fee for a call on the client's BYOK key: a percentage of the listed rate, rounded down to whole pico-USD per
 * token, so that every fee is exact. The provider bills the client for the tokens.
 */
export function feeRate(rate: TokenRates, feePercent: number): TokenRates {
  return mapRates(rate, (listed) => (listed * BigInt(feePercent)) / 100n)
}

/** The version of a fee rate, which changes with the listed rate and with the percentage. */
export const feeRateVersion = (model: Pick<Model, 'rateVersion'>, feePercent: number): string =>
  `${model.rateVersion}-byok-${feePercent}`

/**
 * The hold of a catalog's cheapest call: the shortest prompt and one token of completion at the lowest rate above zero.
 * A lower balance counts as exhausted. Zero if nothing has a price. Computed once a snapshot.
 */
export const leastCallCost = oncePer(({ models }: CatalogSnapshot): PicoUsd => {
  let least: PicoUsd | null = null
  for (const model of models.values()) {
    if (model.kind !== 'chat' || !isAvailable(model)) continue
    const cost = costOf({ promptTokens: PROMPT_TOKENS_LEAST, completionTokens: 1 }, model.rate)
    if (cost > 0n && (least === null || cost < least)) least = cost
  }
  return least ?? ZERO_USD
})
