import { type AutoDecision, chooseAutoModels } from './auto-routing.ts'
import { capacityFor, type OwnProviderKey } from './byok.ts'
import type { Candidate } from './call-job.ts'
import { type CatalogSnapshot, findModel, type Model, type Offer } from './catalog.ts'
import type { ChatRequest, Sort } from './chat-request.ts'
import { ApiError } from './errors.ts'
import { type PicoUsd, picoUsd } from './money.ts'
import { isAllowed, type OfferFilter, offerFilter } from './offer-filter.ts'
import { orderOffers } from './offer-order.ts'
import { isHealthy, type OfferStates, UNKNOWN_OFFER_STATE } from './offer-state.ts'
import { fits, toCandidate } from './plan-candidate.ts'
import { type Obstacle, planRefusal } from './plan-refusal.ts'
import { type ProviderIds, providersChosenBy } from './provider-names.ts'
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
  /** What `auto` chose by; absent where the request does not ask for it. */
  auto?: AutoDecision
}

export interface PlanOptions {
  /** Completion limit where the client sets none. */
  defaultCompletionLimit: number
  maxCandidates: number
  /** The client's own keys at providers. Absent: it has none. */
  providerKeys?: readonly OwnProviderKey[] | undefined
  /** Of the listed rate: what is charged where one of them is used. */
  byokFeePercent: number
  /** What is known of an offer. Absent: every one is taken for healthy and unmeasured. */
  offerState?: OfferStates | undefined
  /** Uniform in [0, 1). */
  random: () => number
}

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
  const filter = offerFilter(request.preferences, shape, catalog)
  const resolved = request.models.map((asked) => resolveEntry(asked, request, shape, filter, catalog))
  const entries = resolved.flatMap((one) => one.entries)
  const auto = resolved.find((one) => one.auto)?.auto
  if (entries.length === 0) {
    throw new ApiError(
      'model_not_found',
      `No model of that name. Ids come from the catalog: ${request.models.join(', ')}.`,
      {
        param: request.models.length > 1 ? 'models' : 'model',
      },
    )
  }
  const asked: AskedCall = {
    request,
    shape,
    promptTokens,
    filter,
    pinned: request.preferences.order.map((name) => providersChosenBy(name, catalog)),
  }
  const obstacles = new Set<Obstacle>()
  const taken = new Set<string>()
  const choices = entries.map((entry) =>
    // An entry that leads where an earlier one has led already adds nothing.
    choicesOf(entry, asked, obstacles, options).filter(({ candidate }) => isNew(targetOf(candidate), taken)),
  )
  if (taken.size === 0) throw planRefusal(obstacles, shape)
  return { ...priced(shareSeats(choices, options.maxCandidates), promptTokens), ...(auto && { auto }) }
}

/** What a request asks of every model, read off it once. */
interface AskedCall {
  request: ChatRequest
  shape: RequestShape
  promptTokens: number
  filter: OfferFilter
  pinned: readonly ProviderIds[]
}

/** A candidate with what is known of it now. */
interface Choice {
  candidate: Candidate
  isHealthy: boolean
}

/**
 * The choices that get a place in the plan, in their order. Where there are more than places, the healthy come
 * first, and every entry gets its best before any gets its second, so that a long list of offers of one model
 * leaves room for the models after it.
 */
function shareSeats(entries: readonly Choice[][], seats: number): Candidate[] {
  const seated = new Set<Choice>()
  for (const healthy of [true, false]) {
    const queues = entries.map((choices) => choices.filter(({ isHealthy }) => isHealthy === healthy))
    const rounds = Math.max(...queues.map((queue) => queue.length))
    for (let round = 0; round < rounds; round++) {
      for (const queue of queues) {
        const choice = queue[round]
        if (choice && seated.size < seats) seated.add(choice)
      }
    }
  }
  return entries.flat().flatMap((choice) => (seated.has(choice) ? [choice.candidate] : []))
}

/** What makes two candidates the same try. */
const targetOf = ({ modelId, offerId, providerKeyId = '' }: Candidate): string =>
  `${modelId} ${offerId} ${providerKeyId}`

function isNew(key: string, taken: Set<string>): boolean {
  const before = taken.size
  return taken.add(key).size > before
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

/** What one asked name stands for: a model, or those that `auto` chooses. No entries: nothing of that name. */
function resolveEntry(
  asked: string,
  request: ChatRequest,
  shape: RequestShape,
  filter: OfferFilter,
  catalog: CatalogSnapshot,
): { entries: Entry[]; auto?: AutoDecision } {
  const whole = findModel(catalog, asked)
  if (whole) return { entries: [{ asked, model: whole, sort: undefined, exactTools: false }] }
  const colon = asked.lastIndexOf(':')
  const suffix = colon < 0 ? null : asked.slice(colon + 1)
  const base = colon < 0 ? asked : asked.slice(0, colon)
  if (suffix !== null && !Object.hasOwn(SUFFIXES, suffix)) return { entries: [] }
  const preference = (suffix !== null && SUFFIXES[suffix]) || { sort: undefined, exactTools: false }
  if (base !== 'auto') {
    const model = findModel(catalog, base)
    return { entries: model ? [{ asked, model, ...preference }] : [] }
  }
  const { models, ...auto } = chooseAutoModels(request, shape, catalog, (model) =>
    model.offers.some((offer) => offer.shared && isAllowed(offer, model, filter, preference.exactTools)),
  )
  return { entries: models.map((model) => ({ asked, model, ...preference })), auto }
}

/** What an entry of the request leads to, in the order in which to try it. Notes why where it leads nowhere. */
function choicesOf(
  entry: Entry,
  { request, shape, promptTokens, filter, pinned }: AskedCall,
  obstacles: Set<Obstacle>,
  options: PlanOptions,
): Choice[] {
  const { model } = entry
  if (!shape.modalities.every((modality) => model.inputModalities.includes(modality))) {
    obstacles.add('shape')
    return []
  }
  if (shape.promptTokensAtLeast >= model.contextLength) {
    obstacles.add('context')
    return []
  }
  const { sort, allowFallbacks } = request.preferences
  const { offerState: stateOf = () => UNKNOWN_OFFER_STATE, random, providerKeys = [] } = options
  const order = { pinned, sort: entry.sort ?? sort, allowFallbacks }
  const capacity = capacityFor(model, providerKeys)
  // On the client's own key the tokens cost us nothing, so no prompt is dearer than its rate.
  const fitsIn = (offer: Offer) => fits(offer, shape, capacity.own.has(offer) ? 0 : promptTokens)
  const allowed = (offers: Iterable<Offer>, isFit: (offer: Offer) => boolean) =>
    [...offers].filter((offer) => isFit(offer) && isAllowed(offer, model, filter, entry.exactTools))

  // How an offer fares with our key says nothing of another key's standing there.
  const ownStateOf: OfferStates = (offerId) => ({ ...stateOf(offerId), health: 'ready' })
  const own = orderOffers(allowed(capacity.own.keys(), fitsIn), order, ownStateOf, random).flatMap((offer) =>
    capacity.own.get(offer)!.map((providerKeyId) => ({ offer, providerKeyId, isHealthy: true })),
  )
  const isChosen = own.length > 0 && !allowFallbacks && pinned.length === 0
  const shared = isChosen
    ? []
    : orderOffers(
        allowed(capacity.shared, (offer) => fits(offer, shape, promptTokens)),
        order,
        stateOf,
        random,
      )
  const targets = [
    ...own,
    ...shared.map((offer) => ({ offer, providerKeyId: null, isHealthy: isHealthy(stateOf(offer.id)) })),
  ]
  const choices = targets.flatMap(({ isHealthy, ...target }) => {
    const candidate = toCandidate(entry, target, request, promptTokens, options)
    return candidate ? [{ candidate, isHealthy }] : []
  })
  if (choices.length === 0) {
    const isTooLong = model.offers.length > 0 && !model.offers.some(fitsIn)
    const isServed = capacity.own.size + capacity.shared.length > 0
    const elsewise = capacity.ownOnly ? 'own-keys' : isServed ? 'preferences' : 'unserved'
    obstacles.add(isTooLong ? 'context' : elsewise)
  }
  return choices
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
