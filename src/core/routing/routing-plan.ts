import { AUTO_MODEL, chooseAutoModels } from '../auto/auto-routing.ts'
import type { AutoDecision } from '../auto/tiers.ts'
import { mostPromptCost } from '../billing/pricing.ts'
import type { Candidate } from '../calls/call-job.ts'
import { type ChatRequest, mediaParts } from '../calls/chat-request.ts'
import type { Sort } from '../calls/provider-preferences.ts'
import { modelKindOf, taskInputs, taskMedia } from '../calls/task.ts'
import { type CatalogSnapshot, findModel, type Model, type Offer } from '../catalog/catalog.ts'
import { readRates } from '../catalog/token-rates.ts'
import { resolvesReferences, schemaTooLarge, tooLargeSchema } from '../json/schema-limits.ts'
import { greaterOf, type PicoUsd, picoUsd } from '../kernel/money.ts'
import { oncePer } from '../kernel/once-per.ts'
import { sumOfTokens } from '../media/media-tokens.ts'
import { promptBoundOf } from '../text-tokens/prompt-tokens.ts'
import { type AllowList, allowsModel } from './allow-list.ts'
import type { ByokKey } from './byok.ts'
import {
  isAllowed,
  isHealthy,
  type OfferFilter,
  type OfferStates,
  offerFilter,
  orderOffers,
  type ProviderIds,
  providersChosenBy,
  speaks,
  UNKNOWN_OFFER_STATE,
} from './offer-preferences.ts'
import {
  capacityFor,
  contentKindsOf,
  fits,
  type PromptSize,
  promptTokensAt,
  type RequestShape,
  requestShape,
  takesInput,
  takesTask,
  toCandidate,
  usableOffers,
} from './plan-candidate.ts'
import {
  modelNotAllowed,
  modelNotFound,
  type Obstacle,
  planRefusal,
  unsupportedParameter,
} from './plan-refusal.ts'
import { supportsParameter } from './supported-parameters.ts'

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
  /** Tokens of the prompt, for the rate limit: a bound of its text, and what its media are likely to be. */
  promptTokens: number
  /** What `auto` chose by; absent where the request does not ask for it. */
  auto?: AutoDecision
}

export interface PlanOptions {
  /** Completion limit where the client sets none. */
  defaultCompletionLimit: number
  maxCandidates: number
  /** The client's BYOK keys at providers. Absent: it has none. */
  byokKeys?: readonly ByokKey[] | undefined
  /** What the client's key may use. Absent: everything. */
  allowList?: AllowList | undefined
  /** Of the listed rate: what is charged where one of them is used. */
  byokFeePercent: number
  /** What is known of an offer. Absent: every one is taken for healthy and unmeasured. */
  offerState?: OfferStates | undefined
  /** Uniform in [0, 1). */
  random: () => number
}

/**
 * Plans the attempts of a call ahead of time; `textTokens` is a bound of the tokens of the prompt's text. Throws
 * ApiError `not_permitted`, `model_not_found`, `unsupported_shape`, `context_length_exceeded` or `no_provider_available`
 * when nothing is left to try.
 */
export function planRoute(
  request: ChatRequest,
  textTokens: number,
  catalog: CatalogSnapshot,
  options: PlanOptions,
): RoutingPlan {
  const { allowList } = options
  const shape = requestShape(request)
  const filter = offerFilter(request, shape, catalog, allowList)
  const resolved = request.models.map((asked) =>
    resolveEntry(asked, request, shape, filter, catalog, allowList),
  )
  const entries = resolved.flatMap((one) => one.entries)
  const auto = resolved.find((one) => one.auto)?.auto
  const kind = modelKindOf(request)
  const refused = resolved.flatMap((one) => one.refused ?? [])
  if (entries.length === 0 && refused.length > 0) throw modelNotAllowed(refused)
  if (entries.length === 0) throw modelNotFound(request.models, Object.keys(SUFFIXES), catalog, kind)
  const asked: AskedCall = {
    request,
    shape,
    prompt: {
      textTokens,
      textTokensAtLeast: shape.promptTokensAtLeast,
      media: request.task ? taskMedia(request.task) : mediaParts(request.messages),
      inputs: request.task ? taskInputs(request.task) : 1,
    },
    filter,
    pinned: request.preferences.order.map((name) => providersChosenBy(name, catalog)),
  }
  const obstacles = new Set<Obstacle>()
  const taken = new Set<string>()
  const choices = entries.map((entry) =>
    // An entry that leads where an earlier one has led already adds nothing.
    choicesOf(entry, asked, obstacles, options).filter(({ candidate }) => isNew(targetOf(candidate), taken)),
  )
  if (taken.size === 0) {
    const parameter = request.extended && unmetParameter(entries, asked, options)
    if (parameter) throw unsupportedParameter(parameter)
    throw obstacles.has('schema')
      ? schemaTooLarge(tooLargeSchema(request.parameters) ?? 'tools')
      : planRefusal(obstacles, shape)
  }
  const candidates = allocateSlots(choices, options.maxCandidates)
  const mediaLikely = Math.max(
    ...candidates.map(({ media, promptTokensBound }) =>
      Math.min(sumOfTokens(media?.likely), promptTokensBound),
    ),
  )
  return { ...priced(candidates), promptTokens: textTokens + mediaLikely, ...(auto && { auto }) }
}

/** One model to try: an entry of the request, resolved. */
interface PlanEntry {
  asked: string
  model: Model
  sort: Sort | undefined
  exactTools: boolean
}

const SUFFIXES: Record<string, Pick<PlanEntry, 'sort' | 'exactTools'>> = {
  nitro: { sort: 'throughput', exactTools: false },
  floor: { sort: 'price', exactTools: false },
  exacto: { sort: undefined, exactTools: true },
}

interface ResolvedName {
  entries: PlanEntry[]
  auto?: AutoDecision
  /** The name, if what it stands for may not be used with the client's key. */
  refused?: string
}

/** What one asked name stands for: a model, or those that `auto` chooses. No entries: nothing of that name. */
function resolveEntry(
  asked: string,
  request: ChatRequest,
  shape: RequestShape,
  filter: OfferFilter,
  catalog: CatalogSnapshot,
  allowList: AllowList | undefined,
): ResolvedName {
  const kind = modelKindOf(request)
  const isPermitted = (model: Model) => allowList === undefined || allowsModel(allowList, model)
  const entryOf = (model: Model | null, preference: Pick<PlanEntry, 'sort' | 'exactTools'>): ResolvedName => {
    if (model === null) return { entries: [] }
    return isPermitted(model)
      ? { entries: [{ asked, model, ...preference }] }
      : { entries: [], refused: asked }
  }
  const whole = findModel(catalog, asked, kind)
  if (whole) return entryOf(whole, { sort: undefined, exactTools: false })
  const colon = asked.lastIndexOf(':')
  const suffix = colon < 0 ? null : asked.slice(colon + 1)
  const base = colon < 0 ? asked : asked.slice(0, colon)
  if (suffix !== null && !Object.hasOwn(SUFFIXES, suffix)) return { entries: [] }
  const preference = (suffix !== null && SUFFIXES[suffix]) || { sort: undefined, exactTools: false }
  if (base !== AUTO_MODEL || kind !== 'chat') return entryOf(findModel(catalog, base, kind), preference)
  const isUsable = (model: Model) =>
    model.offers.some((offer) => offer.shared && isAllowed(offer, model, filter, preference.exactTools))
  const { models, ...auto } = chooseAutoModels(request, shape, catalog, isUsable, isPermitted)
  if (models.length === 0 && allowList?.models) return { entries: [], refused: asked }
  return { entries: models.map((model) => ({ asked, model, ...preference })), auto }
}

/** What a request asks of every model, read off it once. */
interface AskedCall {
  request: ChatRequest
  shape: RequestShape
  prompt: PromptSize
  filter: OfferFilter
  pinned: readonly ProviderIds[]
}

/**
 * The parameter that keeps a request from every offer that its other preferences allow: one that none of them
 * supports, or else one that the first does not. Null where another reason keeps it from some of them.
 */
function unmetParameter(
  entries: readonly PlanEntry[],
  { shape, filter }: AskedCall,
  { byokKeys = [] }: PlanOptions,
): string | null {
  const otherwise = { ...filter, parameters: [] }
  const unmet = entries
    .filter(({ model }) => takesInput(model, shape))
    .flatMap(({ model, exactTools }) =>
      usableOffers(capacityFor(model, byokKeys))
        .filter((offer) => isAllowed(offer, model, otherwise, exactTools))
        .map((offer) => filter.parameters.filter((name) => !supportsParameter(offer, model, name))),
    )
  if (unmet.length === 0 || unmet.some((names) => names.length === 0)) return null
  return filter.parameters.find((name) => unmet.every((names) => names.includes(name))) ?? unmet[0]![0]!
}

/** A candidate with what is known of it now. */
interface Choice {
  candidate: Candidate
  isHealthy: boolean
}

/** What an entry of the request leads to, in the order in which to try it. Notes why where it leads nowhere. */
function choicesOf(
  entry: PlanEntry,
  { request, shape, prompt, filter, pinned }: AskedCall,
  obstacles: Set<Obstacle>,
  options: PlanOptions,
): Choice[] {
  const { model } = entry
  const { offerState: stateOf = () => UNKNOWN_OFFER_STATE, random, byokKeys = [] } = options
  const capacity = capacityFor(model, byokKeys)
  const { permitted } = filter
  if (permitted && !usableOffers(capacity).some(({ provider }) => permitted.has(provider.id))) {
    obstacles.add('allow-list')
    return []
  }
  if (filter.wire !== undefined && !usableOffers(capacity).some(({ provider }) => speaks(provider, filter))) {
    obstacles.add('wire')
    return []
  }
  if (!takesInput(model, shape)) {
    obstacles.add('shape')
    return []
  }
  if (!takesTask(model, shape)) {
    obstacles.add('task')
    return []
  }
  if (shape.promptTokensAtLeast >= model.contextLength) {
    obstacles.add('context')
    return []
  }
  const { sort, allowFallbacks } = request.preferences
  const order = { pinned, sort: entry.sort ?? sort, allowFallbacks }
  const shared = capacity.shared.filter(({ id }) => !stateOf(id).excludes?.(contentKindsOf(request)))
  // On the client's BYOK key the tokens cost us nothing, so no prompt is dearer than its rate.
  const fitsIn = (offer: Offer) =>
    fits(offer, shape, capacity.own.has(offer) ? null : promptTokensAt(offer, model, prompt))
  const allowed = (offers: Iterable<Offer>, isFit: (offer: Offer) => boolean) =>
    [...offers].filter(
      (offer) => isFit(offer) && isAllowed(offer, model, filter, entry.exactTools) && takesSchemas(offer),
    )
  const takesSchemas = ({ provider }: Offer): boolean => {
    if (!resolvesReferences(provider.wire) || tooLargeSchema(request.parameters) === null) return true
    obstacles.add('schema')
    return false
  }

  // How an offer fares with our key says nothing of another key's standing there.
  const ownStateOf: OfferStates = (offerId) => ({ ...stateOf(offerId), health: 'ready' })
  const own = orderOffers(allowed(capacity.own.keys(), fitsIn), order, ownStateOf, random).flatMap((offer) =>
    capacity.own.get(offer)!.map((providerKeyId) => ({ offer, providerKeyId, isHealthy: true })),
  )
  const isChosen = own.length > 0 && !allowFallbacks && pinned.length === 0
  const sharedFirst = isChosen
    ? []
    : orderOffers(
        allowed(shared, (offer) => fits(offer, shape, promptTokensAt(offer, model, prompt))),
        order,
        stateOf,
        random,
      )
  const targets = [
    ...own,
    ...sharedFirst.map((offer) => ({ offer, providerKeyId: null, isHealthy: isHealthy(stateOf(offer.id)) })),
  ]
  const choices = targets.flatMap(({ isHealthy, ...target }) => {
    const candidate = toCandidate(
      entry,
      target,
      request,
      promptTokensAt(target.offer, model, prompt),
      options,
    )
    return candidate ? [{ candidate, isHealthy }] : []
  })
  if (choices.length === 0) {
    const isTooLong = model.offers.length > 0 && !model.offers.some(fitsIn)
    const isServed = capacity.own.size + shared.length > 0
    const elsewise = capacity.ownOnly ? 'byok-keys' : isServed ? 'preferences' : 'unserved'
    obstacles.add(isTooLong ? 'context' : elsewise)
  }
  return choices
}

/**
 * The choices that get one of the plan's slots, in their order. Where there are more than slots, the healthy come
 * first, and every entry gets its best before any gets its second, so that a long list of offers of one model
 * leaves room for the models after it.
 */
function allocateSlots(entries: readonly Choice[][], slots: number): Candidate[] {
  const all = entries.flat()
  if (all.length <= slots) return all.map(({ candidate }) => candidate)
  const placed = new Set<Choice>()
  for (const healthy of [true, false]) {
    const queues = entries.map((choices) => choices.filter(({ isHealthy }) => isHealthy === healthy))
    const rounds = Math.max(...queues.map((queue) => queue.length))
    for (let round = 0; round < rounds; round++) {
      for (const queue of queues) {
        const choice = queue[round]
        if (choice && placed.size < slots) placed.add(choice)
      }
    }
  }
  return all.flatMap((choice) => (placed.has(choice) ? [choice.candidate] : []))
}

/** What makes two candidates the same try. */
const targetOf = ({ modelId, offerId, providerKeyId = '' }: Candidate): string =>
  `${modelId} ${offerId} ${providerKeyId}`

function isNew(key: string, taken: Set<string>): boolean {
  const before = taken.size
  return taken.add(key).size > before
}

/** The candidates of a model share the texts of its rates. */
const ratesOf = oncePer(readRates)

function priced(candidates: Candidate[]): Omit<RoutingPlan, 'promptTokens' | 'auto'> {
  const max = (values: bigint[]) => values.reduce<bigint>(greaterOf, 0n)
  const prompts = candidates.map((candidate) =>
    mostPromptCost(promptBoundOf(candidate), ratesOf(candidate.rate)),
  )
  const rates = candidates.map<bigint>(({ rate }) => ratesOf(rate).completion)
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
