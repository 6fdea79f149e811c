import { rankAutoModels } from './auto-routing.ts'
import type { Candidate } from './call-job.ts'
import { type CatalogSnapshot, findModel, type Model, type Offer } from './catalog.ts'
import type { ChatRequest, ProviderPreferences, Sort } from './chat-request.ts'
import { ApiError } from './errors.ts'
import { type PicoUsd, picoUsd } from './money.ts'
import { type RequestShape, requestShape } from './request-shape.ts'

/** Where a call may go, in order, and what it can cost at most. */
export interface RoutingPlan {
  candidates: Candidate[]
  /** The most the call can cost at `completionLimit`, at the dearest candidate. */
  worstCase: PicoUsd
  /** Terms of the hold when the completion limit has to shrink to what the balance affords. */
  dearestPrompt: PicoUsd
  dearestCompletionRate: bigint
  /** The longest completion limit among the candidates. */
  completionLimit: number
}

export interface PlanOptions {
  /** Completion limit where the client sets none. */
  defaultCompletionLimit: number
  maxCandidates: number
  /** Uniform in [0, 1). */
  random: () => number
}

/** Why a model or an offer is no candidate; the most telling reason decides the refusal. */
type Obstacle = 'shape' | 'context' | 'preferences'

/**
 * Plans the attempts of a call ahead of time. Throws ApiError `model_not_found`, `unsupported_shape`,
 * `context_length_exceeded` or `no_provider_available` when nothing is left to try.
 */
export function planRoute(
  request: ChatRequest,
  promptTokens: number,
  catalog: CatalogSnapshot,
  options: PlanOptions,
): RoutingPlan {
  const shape = requestShape(request)
  const entries = request.models.flatMap((asked) => resolveEntry(asked, request, shape, catalog))
  if (entries.length === 0) {
    throw new ApiError(
      'model_not_found',
      `No model of that name. Ids come from the catalog: ${request.models.join(', ')}.`,
      {
        param: request.models.length > 1 ? 'models' : 'model',
      },
    )
  }
  const obstacles = new Set<Obstacle>()
  const candidates: Candidate[] = []
  for (const entry of entries) {
    for (const offer of orderedOffers(entry, request, shape, obstacles, options.random)) {
      const candidate = toCandidate(entry, offer, request, promptTokens, options.defaultCompletionLimit)
      if (candidate) candidates.push(candidate)
      else obstacles.add('preferences')
    }
  }
  if (candidates.length === 0) throw refusal(obstacles, shape)
  return priced(candidates.slice(0, options.maxCandidates), promptTokens)
}

/** One model to try: an entry of the request, resolved. */
interface Entry {
  asked: string
  model: Model
  sort: Sort | undefined
  exactTools: boolean
}

const SUFFIXES: Record<string, Pick<Entry, 'sort' | 'exactTools'>> = {
  nitro: { sort: 'throughput', exactTools: false },
  floor: { sort: 'price', exactTools: false },
  exacto: { sort: undefined, exactTools: true },
}

function resolveEntry(
  asked: string,
  request: ChatRequest,
  shape: RequestShape,
  catalog: CatalogSnapshot,
): Entry[] {
  const whole = findModel(catalog, asked)
  if (whole) return [{ asked, model: whole, sort: undefined, exactTools: false }]
  const colon = asked.lastIndexOf(':')
  const suffix = colon < 0 ? null : asked.slice(colon + 1)
  const base = colon < 0 ? asked : asked.slice(0, colon)
  if (suffix !== null && !Object.hasOwn(SUFFIXES, suffix)) return []
  const preference = (suffix !== null && SUFFIXES[suffix]) || { sort: undefined, exactTools: false }
  const models = base === 'auto' ? rankAutoModels(request, shape, catalog) : [findModel(catalog, base)]
  return models.flatMap((model) => (model ? [{ asked, model, ...preference }] : []))
}

function orderedOffers(
  entry: Entry,
  request: ChatRequest,
  shape: RequestShape,
  obstacles: Set<Obstacle>,
  random: () => number,
): Offer[] {
  const { model } = entry
  if (!shape.modalities.every((modality) => model.inputModalities.includes(modality))) {
    obstacles.add('shape')
    return []
  }
  if (shape.promptTokensAtLeast >= model.contextLength) {
    obstacles.add('context')
    return []
  }
  const preferences = request.preferences
  const allowed = model.offers.filter((offer) => isAllowed(offer, entry, request, shape))
  if (allowed.length === 0) obstacles.add('preferences')
  const sorted = sortOffers(allowed, entry.sort ?? preferences.sort, random)
  const pinned = preferences.order.flatMap((name) => sorted.filter((offer) => isProvider(offer, name)))
  if (preferences.allowFallbacks) return [...new Set([...pinned, ...sorted])]
  return preferences.order.length > 0 ? [...new Set(pinned)] : sorted.slice(0, 1)
}

/** Every preference that excludes. `only`, `zdr`, `data_collection` and `max_price` fail closed. */
function isAllowed(offer: Offer, entry: Entry, request: ChatRequest, shape: RequestShape): boolean {
  const { only, ignore, zdr, dataCollection, requireParameters, maxPrice } = request.preferences
  const { model } = entry
  return (
    offer.shared &&
    (only === undefined || only.some((name) => isProvider(offer, name))) &&
    !ignore.some((name) => isProvider(offer, name)) &&
    (!zdr || offer.provider.zdr) &&
    (dataCollection === 'allow' || offer.provider.dataCollection === 'deny') &&
    (!entry.exactTools || offer.exactTools) &&
    (!requireParameters || shape.parameters.every((name) => model.supportedParameters.includes(name))) &&
    (maxPrice.prompt === undefined || model.rate.prompt <= maxPrice.prompt) &&
    (maxPrice.completion === undefined || model.rate.completion <= maxPrice.completion)
  )
}

const isProvider = (offer: Offer, name: string): boolean =>
  offer.provider.id === name.toLowerCase() || offer.provider.name === name

/** Sorts by our price, or balances at random, weighted by the inverse square of the price. */
function sortOffers(offers: readonly Offer[], sort: Sort | undefined, random: () => number): Offer[] {
  const price = (offer: Offer) => Number(offer.cost.prompt * 3n + offer.cost.completion) + 1
  const keyed = offers.map((offer) => ({
    offer,
    // An exponential variate with rate 1/price²: sorting by it draws without replacement by weight.
    key: sort === undefined ? -Math.log(1 - random()) * price(offer) ** 2 : price(offer),
  }))
  return keyed.sort((a, b) => a.key - b.key).map(({ offer }) => offer)
}

/** The candidate with the completion limit it gets, or null when not one token fits under the price cap. */
function toCandidate(
  entry: Entry,
  offer: Offer,
  request: ChatRequest,
  promptTokens: number,
  defaultCompletionLimit: number,
): Candidate | null {
  const { model } = entry
  const wanted = request.completionLimit ?? defaultCompletionLimit
  const limit = limitUnderCap(
    Math.min(wanted, model.maxOutputTokens),
    model,
    promptTokens,
    request.preferences,
  )
  if (limit < 1) return null
  return {
    offerId: offer.id,
    modelId: model.id,
    requestedModel: entry.asked,
    rate: { prompt: String(model.rate.prompt), completion: String(model.rate.completion) },
    rateVersion: model.rateVersion,
    contextLength: model.contextLength,
    completionLimit: limit,
    reasoning: model.reasoning,
  }
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

function priced(candidates: Candidate[], promptTokens: number): RoutingPlan {
  const max = (values: bigint[]) =>
    values.reduce((highest, value) => {
      if (value > highest) return value
      return highest
    }, 0n)
  const prompts = candidates.map((candidate) => BigInt(promptTokens) * BigInt(candidate.rate.prompt))
  const rates = candidates.map((candidate) => BigInt(candidate.rate.completion))
  const worst = candidates.map(
    (candidate, index) => prompts[index]! + BigInt(candidate.completionLimit) * rates[index]!,
  )
  return {
    candidates,
    worstCase: picoUsd(max(worst)),
    dearestPrompt: picoUsd(max(prompts)),
    dearestCompletionRate: max(rates),
    completionLimit: Math.max(...candidates.map((candidate) => candidate.completionLimit)),
  }
}

function refusal(obstacles: Set<Obstacle>, shape: RequestShape): ApiError {
  if (obstacles.has('preferences')) {
    return new ApiError(
      'no_provider_available',
      'No provider meets the preferences of this request. Loosen `provider` or the model suffix.',
      {
        shouldRetry: false,
      },
    )
  }
  if (obstacles.has('context')) {
    return new ApiError(
      'context_length_exceeded',
      'The messages are longer than the context window of any eligible model. Shorten them.',
      {
        param: 'messages',
      },
    )
  }
  return new ApiError(
    'unsupported_shape',
    `No eligible model takes this input (${shape.modalities.join(', ')}). Choose a model that does.`,
    {
      param: 'messages',
    },
  )
}
