import type { Candidate } from '../calls/call-job.ts'
import type { ChatRequest } from '../calls/chat-request.ts'
import type { Offer } from '../catalog/catalog.ts'
import { putsReferencesInPlace, tooLargeSchema } from '../json/schema-limits.ts'
import { type ByokKey, capacityFor } from './byok.ts'
import { isAllowed, type OfferFilter } from './offer-filter.ts'
import { isHealthy, type OfferStates, orderOffers, UNKNOWN_OFFER_STATE } from './offer-order.ts'
import { fits, type PromptSize, promptTokensAt, toCandidate } from './plan-candidate.ts'
import type { PlanEntry } from './plan-entry.ts'
import type { Obstacle } from './plan-refusal.ts'
import type { ProviderIds } from './provider-names.ts'
import { contentKindsOf, type RequestShape, takesInput } from './request-shape.ts'

export interface PlanOptions {
  /** Completion limit where the client sets none. */
  defaultCompletionLimit: number
  maxCandidates: number
  /** The client's own keys at providers. Absent: it has none. */
  providerKeys?: readonly ByokKey[] | undefined
  /** Of the listed rate: what is charged where one of them is used. */
  byokFeePercent: number
  /** What is known of an offer. Absent: every one is taken for healthy and unmeasured. */
  offerState?: OfferStates | undefined
  /** Uniform in [0, 1). */
  random: () => number
}

/** What a request asks of every model, read off it once. */
export interface AskedCall {
  request: ChatRequest
  shape: RequestShape
  prompt: PromptSize
  filter: OfferFilter
  pinned: readonly ProviderIds[]
}

/** A candidate with what is known of it now. */
export interface Choice {
  candidate: Candidate
  isHealthy: boolean
}

/** What an entry of the request leads to, in the order in which to try it. Notes why where it leads nowhere. */
export function choicesOf(
  entry: PlanEntry,
  { request, shape, prompt, filter, pinned }: AskedCall,
  obstacles: Set<Obstacle>,
  options: PlanOptions,
): Choice[] {
  const { model } = entry
  if (!takesInput(model, shape)) {
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
  const kinds = contentKindsOf(request)
  const shared = capacity.shared.filter(({ id }) => !stateOf(id).excludes?.(kinds))
  // On the client's own key the tokens cost us nothing, so no prompt is dearer than its rate.
  const fitsIn = (offer: Offer) =>
    fits(offer, shape, capacity.own.has(offer) ? null : promptTokensAt(offer, model, prompt))
  const allowed = (offers: Iterable<Offer>, isFit: (offer: Offer) => boolean) =>
    [...offers].filter(
      (offer) => isFit(offer) && isAllowed(offer, model, filter, entry.exactTools) && takesSchemas(offer),
    )
  const takesSchemas = ({ provider }: Offer): boolean => {
    if (!putsReferencesInPlace(provider.wire) || tooLargeSchema(request.parameters) === null) return true
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
