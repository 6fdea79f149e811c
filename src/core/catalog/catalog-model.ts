import type { ModelQuality } from '../auto/quality-figure.ts'
import type { TaskTokens } from '../auto/task-tokens.ts'
import { formatRate, picoUsdPerToken } from '../kernel/money.ts'
import { shortHash } from '../kernel/short-hash.ts'
import { mediaRules } from '../media/media-rules.ts'
import {
  DEFAULT_PRIORITY,
  type Model,
  type Offer,
  type Provider,
  SAMPLING_PARAMETERS,
  type SamplingParameter,
  type TokenRates,
  type WithdrawnOffer,
  type WithheldReason,
} from './catalog.ts'
import type { DocumentModel, DocumentOffer, DocumentProvider } from './catalog-document.ts'
import { PUBLISHED_USE_PRICES } from './published-prices.ts'
import { heldToCeiling } from './rate-ceiling.ts'
import {
  CACHE_KINDS,
  listedRate,
  mapRates,
  mediaRate,
  PRICED_MEDIA,
  parsePrices,
  rateOf,
  USE_KINDS,
  withoutCache,
} from './token-rates.ts'

/**
 * Assumed share of a list price that we pay if no document states a cost: slightly below what we charge. The
 * operator's contracts have to be at least this good; see docs/catalog.md.
 */
export const COST_PERCENT = 90
export const OPEN_WEIGHTS_COST_PERCENT = 75

/** What a chat model takes whose document does not say; the other parameters are implied by these. */
const CHAT_PARAMETERS = ['tools', 'response_format', 'temperature', 'top_p']

export interface ModelOptions {
  discountPercent: number
  openWeightsDiscountPercent: number
  /** Assumed share of a provider's list price that we pay, in percent. */
  providerCostPercent?: number
  openWeightsCostPercent?: number
  /** Whether offers that cost more than they earn may be used. */
  allowLossOffers?: boolean
  /** Whether we have this provider's key; its offers are then shared. */
  isUsable: (provider: Provider) => boolean
  /** `<provider>/<upstream model>` of offers that their providers no longer list. */
  unlisted?: ReadonlySet<string>
}

/** A provider as defined by the documents only. */
export interface ProviderEntry {
  provider: Provider
  document: DocumentProvider
}

/** When a model's rate changed according to its document: see `Model.updatedAt`. */
export type RateDate = Pick<Model, 'updatedAt' | 'dated'>

/** Builds one model with its offers. Pure; `taken` are the ids of offers of other models. */
export function toModel(
  model: DocumentModel,
  providers: ReadonlyMap<string, ProviderEntry>,
  taken: ReadonlyMap<string, Offer>,
  { updatedAt, dated = false, isOwn = false }: RateDate & { isOwn?: boolean },
  options: ModelOptions,
): Model {
  const { kind = 'chat' } = model
  const isOnMessagesWire = model.offers.some(
    (offer) => providers.get(offer.provider)?.provider.wire === 'anthropic-messages',
  )
  const stated = parsePrices({ ...(isOnMessagesWire && PUBLISHED_USE_PRICES), ...model.list_price })
  const listPrice = isOnMessagesWire ? withHourInCache(stated) : stated
  const openWeights = model.open_weights ?? false
  const rate = model.rate
    ? {
        ...discounted(listPrice, openWeights, options),
        ...heldToCeiling(parsePrices(model.rate), listPrice),
      }
    : discounted(listPrice, openWeights, options)
  const all = model.offers.map((document) => {
    const entry = providers.get(document.provider)!
    const made = toOffer(document, model, { listPrice, rate }, entry, taken, options)
    const offer = isOwn && !entry.document.follows_list ? { ...made, ignoresList: true as const } : made
    return { offer, reason: withdrawalOf(document, model, entry.document, offer, options) }
  })
  const offers = all.flatMap(({ offer, reason }) => (reason === null ? [offer] : []))
  const withdrawn = all.flatMap(({ offer, reason }): WithdrawnOffer[] =>
    reason === null ? [] : [{ offer, reason }],
  )
  const contextLength = Math.min(model.context_length, widestWindow(offers) ?? model.context_length)
  return {
    id: model.id,
    name: model.name ?? model.id,
    vendor: model.vendor,
    kind,
    ...(model.unit && { unit: model.unit }),
    ...(model.least_units !== undefined && { leastUnits: model.least_units }),
    ...(model.dimensions !== undefined && { dimensions: model.dimensions }),
    ...(model.image_units && { imageUnits: model.image_units }),
    contextLength,
    maxOutputTokens: Math.min(model.max_output_tokens ?? contextLength, contextLength),
    ...(model.max_output_tokens !== undefined &&
      model.max_output_tokens < model.context_length && { outputLimitStated: true }),
    inputModalities: model.input_modalities ?? ['text'],
    media: mediaRules(model.id, model.vendor, model.media),
    supportedParameters: model.supported_parameters ?? (kind === 'chat' ? CHAT_PARAMETERS : []),
    reasoning: model.reasoning ?? false,
    openWeights,
    ...(model.released_at && { releasedAt: model.released_at }),
    ...(model.deprecated_at && { deprecatedAt: model.deprecated_at }),
    listPrice,
    rate,
    // A hash of the rate alone: clients see it, and for `auto` it must not identify the model.
    rateVersion: rateVersionOf(rate),
    updatedAt,
    ...(dated && { dated }),
    auto: kind === 'chat' && (model.auto ?? true),
    ...(model.quality && { quality: toQuality(model.quality) }),
    ...(model.output_tokens && { outputTokens: toTaskTokens(model.output_tokens) }),
    ...(model.completion_tokens && { completionTokens: model.completion_tokens }),
    offers,
    ...(withdrawn.length > 0 && { withdrawn }),
  }
}

const toQuality = (quality: NonNullable<DocumentModel['quality']>): ModelQuality =>
  Object.fromEntries(
    Object.entries(quality).map(([kind, { standard_error: standardError, ...figure }]) => [
      kind,
      { ...figure, standardError },
    ]),
  )

function toTaskTokens(published: NonNullable<DocumentModel['output_tokens']>): TaskTokens {
  const { default_effort: defaultEffort, by_effort: byEffort, source, date } = published
  return { defaultEffort, ...(byEffort && { byEffort }), source, date }
}

function rateVersionOf(rate: TokenRates): string {
  const { prompt, completion, ...others } = rate
  const text = `${formatRate(prompt)} ${formatRate(completion)}`
  const otherText = Object.entries(others).map(([kind, price]) => ` ${kind} ${formatRate(price)}`)
  return shortHash(text + otherText.join(''))
}

/** The maker of the messages wire publishes twice the price of the prompt for an hour in its cache. */
const withHourInCache = (prices: TokenRates): TokenRates =>
  prices.cacheWrite === undefined || prices.cacheWriteHour !== undefined
    ? prices
    : { ...prices, cacheWriteHour: picoUsdPerToken(prices.prompt * 2n) }

function discounted(listPrice: TokenRates, openWeights: boolean, options: ModelOptions): TokenRates {
  return listedRate(listPrice, openWeights ? options.openWeightsDiscountPercent : options.discountPercent)
}

function toOffer(
  offer: DocumentOffer,
  model: DocumentModel,
  { listPrice, rate }: { listPrice: TokenRates; rate: TokenRates },
  { provider, document }: ProviderEntry,
  taken: ReadonlyMap<string, Offer>,
  options: ModelOptions,
): Offer {
  const id = `${provider.id}/${offer.upstream_model}`
  const share = shareOf(document, model, options)
  // A provider with its own prices does not have the maker's cache prices.
  const ownList = offer.list_price
    ? { ...withoutCache(listPrice), ...parsePrices(offer.list_price) }
    : listPrice
  const cost = { ...costOf(ownList, share), ...(offer.cost && parsePrices(offer.cost)) }
  const withheld = withheldReason(provider, cost, rate, options)
  const covered = coveredTokens(offer, ownList, rate, share, options)
  const lossMedia = options.allowLossOffers
    ? []
    : PRICED_MEDIA.filter((media) => mediaRate(cost, media) > mediaRate(rate, media))
  const lossCache =
    !options.allowLossOffers && CACHE_KINDS.some((kind) => rateOf(cost, kind) > rateOf(rate, kind))
  const lossUses = options.allowLossOffers
    ? []
    : USE_KINDS.filter((kind) => rateOf(cost, kind) > rateOf(rate, kind))
  const refusedSampling = refusedSamplingOf(model)
  const providerWindow = offer.context_length ?? model.context_length
  const window = Math.min(providerWindow, covered ?? model.context_length)
  return {
    // Two models may share one upstream model at different prices; the first keeps the short id.
    id: taken.has(id) ? `${id}@${model.id}` : id,
    provider,
    upstreamModel: offer.upstream_model,
    cost,
    costStated: offer.cost !== undefined,
    shared: withheld === null,
    ...(withheld !== null && { withheld }),
    ...(window < model.context_length && { contextLength: window }),
    ...(providerWindow > window && { providerContextLength: providerWindow }),
    ...(covered !== null && { coveredTokens: covered }),
    ...(lossMedia.length > 0 && { lossMedia }),
    ...(lossCache && { lossCache }),
    ...(lossUses.length > 0 && { lossUses }),
    ...(offer.max_output_tokens !== undefined && { maxOutputTokens: offer.max_output_tokens }),
    ...(offer.tier_percent && { tierPercents: offer.tier_percent }),
    ...(refusedSampling.length > 0 && { refusedSampling }),
    ...(model.reasoning && { reasons: true as const }),
    priority: offer.priority ?? DEFAULT_PRIORITY,
    ...(offer.weight !== undefined && { weight: offer.weight }),
    exactTools: offer.exact_tools ?? false,
    assistantPrefill: offer.assistant_prefill ?? false,
  }
}

/** Reasoning models of some makers reject sampling parameters; others ignore unknown ones. */
const refusedSamplingOf = ({
  reasoning,
  supported_parameters: supported,
}: DocumentModel): SamplingParameter[] =>
  reasoning && supported ? SAMPLING_PARAMETERS.filter((parameter) => !supported.includes(parameter)) : []

function withheldReason(
  provider: Provider,
  cost: TokenRates,
  rate: TokenRates,
  options: ModelOptions,
): WithheldReason | null {
  if (!options.isUsable(provider)) return 'no_key'
  return options.allowLossOffers || !isLoss(cost, rate) ? null : 'loss'
}

function withdrawalOf(
  offer: DocumentOffer,
  model: DocumentModel,
  provider: DocumentProvider,
  { ignoresList }: Offer,
  { unlisted }: ModelOptions,
): WithdrawnOffer['reason'] | null {
  if (offer.disabled || model.disabled || provider.disabled) return 'disabled'
  if (ignoresList) return null
  return unlisted?.has(`${offer.provider}/${offer.upstream_model}`) ? 'unlisted' : null
}

/**
 * The longest prompt that does not cost us more than it earns, if a provider charges more for long prompts;
 * null otherwise. The offer's window ends there, because one rate applies to the whole window.
 */
function coveredTokens(
  { long_prompt: long }: DocumentOffer,
  listPrice: TokenRates,
  rate: TokenRates,
  share: bigint,
  { allowLossOffers }: ModelOptions,
): number | null {
  if (!long || allowLossOffers) return null
  const cost = costOf({ ...listPrice, ...parsePrices(long) }, share)
  const isMediaLoss = PRICED_MEDIA.some((media) => mediaRate(cost, media) > mediaRate(rate, media))
  return isMediaLoss || isLoss(cost, rate) ? long.above_tokens : null
}

/** The largest window of the shared offers, or of all offers; null without offers. */
function widestWindow(offers: readonly Offer[]): number | null {
  const shared = offers.filter((offer) => offer.shared)
  const windows = (shared.length > 0 ? shared : offers).map(
    ({ contextLength = Number.POSITIVE_INFINITY }) => contextLength,
  )
  return windows.length === 0 ? null : Math.max(...windows)
}

/** Whether an offer costs us more than it earns. */
export const isLoss = (cost: TokenRates, rate: TokenRates): boolean =>
  (['prompt', 'completion', 'units'] as const).some((kind) => rateOf(cost, kind) > rateOf(rate, kind))

/** The share of a list price that we pay, in percent. */
function shareOf(provider: DocumentProvider, model: DocumentModel, options: ModelOptions): bigint {
  const { providerCostPercent = COST_PERCENT, openWeightsCostPercent = OPEN_WEIGHTS_COST_PERCENT } = options
  return BigInt(provider.cost_percent ?? (model.open_weights ? openWeightsCostPercent : providerCostPercent))
}

/**
 * A share of a list price, rounded up to six decimals of USD per million tokens, so that a cost is never
 * underestimated.
 */
const costOf = (listPrice: TokenRates, percent: bigint): TokenRates =>
  mapRates(listPrice, (price) => (price * percent + 99n) / 100n)
