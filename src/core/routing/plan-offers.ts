import { isUnpricedTier } from '../billing/service-tier.ts'
import type { Candidate } from '../calls/call-job.ts'
import type { RequestOf } from '../calls/call-request.ts'
import type { CallNeeds } from '../calls/kinds/call-kind.ts'
import type { Model, Offer } from '../catalog/catalog.ts'
import { resolvesReferences, tooLargeSchema } from '../json/schema-limits.ts'
import { oncePer } from '../kernel/once-per.ts'
import { mayStay } from './affinity.ts'
import { type ByokKey, takesByokKeys } from './byok.ts'
import {
  isAllowed,
  isHealthy,
  leftOutAt,
  meetsParameter,
  type OfferFilter,
  type OfferStates,
  orderOffers,
  type ProviderIds,
  speaks,
  UNKNOWN_OFFER_STATE,
} from './offer-preferences.ts'
import { fits, promptTokensAt, takesInput, toCandidate } from './plan-candidate.ts'
import type { ModelChoiceOptions, PlanEntry } from './plan-models.ts'
import type { Obstacle } from './plan-refusal.ts'
import { takesField } from './supported-parameters.ts'

/** A call to be planned, with what it requires of every model. */
export interface PlanInput {
  request: Pick<RequestOf<unknown>, 'models' | 'completionLimit' | 'preferences'>
  needs: CallNeeds
  filter: OfferFilter
  pinned: readonly ProviderIds[]
  /** Its modalities as one word: `text`, or `image+text`. */
  contentKinds: string
  /** See OfferOrder. */
  conversation: number | undefined
  isCacheable: boolean
}

export interface PlanOptions extends ModelChoiceOptions {
  /** Completion limit if the client sets none. */
  defaultCompletionLimit: number
  maxCandidates: number
  /** The client's BYOK keys at providers. Absent: none. */
  byokKeys?: readonly ByokKey[] | undefined
  /** Percentage of the listed rate, charged if a BYOK key is used. */
  byokFeePercent: number
  /** The state of offers. Absent: all count as healthy and unmeasured. */
  offerState?: OfferStates | undefined
  /** The hash of the call's conversation within its account; asked for where offers or models differ by it. Absent: none. */
  conversation?: () => number | undefined
  /** Uniform in [0, 1). */
  random: () => number
}

/** A candidate with its current health. */
export interface Choice {
  candidate: Candidate
  isHealthy: boolean
  /** Whether it may be tried first if its conversation is on it, see mayStay. */
  mayStay: boolean
}

/** The choices for one entry of the request, in the order of attempts. Adds the obstacles if there are none. */
export function choicesOf(
  entry: PlanEntry,
  { request, needs, filter, pinned, contentKinds, conversation, isCacheable }: PlanInput,
  obstacles: Set<Obstacle>,
  options: PlanOptions,
): Choice[] {
  const { model } = entry
  const { offerState: stateOf = () => UNKNOWN_OFFER_STATE, random, byokKeys = [] } = options
  const capacity = capacityFor(model, byokKeys)
  const obstacle = obstacleOf(model, capacity, needs, filter)
  if (obstacle !== null) {
    obstacles.add(obstacle)
    return []
  }
  const { sort, allowFallbacks } = request.preferences
  const order = {
    ...{ pinned, sort: entry.sort ?? sort, allowFallbacks, wire: filter.wire },
    ...{ conversation, isCacheable },
  }
  const shared = capacity.shared.filter(({ id }) => !stateOf(id).excludes?.(contentKinds))
  const tokensAt = (offer: Offer) =>
    promptTokensAt(offer, model, needs, stateOf(offer.id).learnedTokens?.(contentKinds) ?? 0)
  // With the client's BYOK key the tokens cause no cost for us, so that no prompt costs more than its rate.
  const fitsIn = (offer: Offer) =>
    fits(offer, needs.prompt, filter.media, capacity.own.has(offer) ? null : tokensAt(offer))
  const isEligible = (offer: Offer) =>
    isAllowed(offer, model, filter, entry.exactTools) && takesSchemas(offer)
  const takesSchemas = ({ provider }: Offer): boolean => {
    if (!resolvesReferences(provider.wire) || tooLargeSchema(needs.schemas) === null) return true
    obstacles.add('schema')
    return false
  }

  const ownOffers = [...capacity.own.keys()].filter((offer) => fitsIn(offer) && isEligible(offer))
  const sharedOffers = shared.filter(
    (offer) => fits(offer, needs.prompt, filter.media, tokensAt(offer)) && isEligible(offer),
  )
  // The health of an offer with our key does not apply to another key.
  const ownStateOf: OfferStates = (offerId) => ({ ...stateOf(offerId), health: 'ready' })
  const choicesAmong = (isTaken: (offer: Offer) => boolean): Choice[] => {
    const own = orderOffers(ownOffers.filter(isTaken), order, ownStateOf, random).flatMap((offer) =>
      capacity.own.get(offer)!.map((providerKeyId) => ({ offer, providerKeyId, isHealthy: true })),
    )
    const isChosen = own.length > 0 && !allowFallbacks && pinned.length === 0
    const others = isChosen ? [] : orderOffers(sharedOffers.filter(isTaken), order, stateOf, random)
    const targets = [
      ...own,
      ...others.map((offer) => ({ offer, providerKeyId: null, isHealthy: isHealthy(stateOf(offer.id)) })),
    ]
    const [first] = targets
    return targets.flatMap(({ isHealthy, ...target }) => {
      const candidate = toCandidate(entry, target, request, needs, tokensAt(target.offer), options)
      if (candidate === null) return []
      const leftOut = needs.extended ? leftOutAt(target.offer, model, needs.parameters, filter) : []
      const takesTier = takesField(target.offer.provider, 'service_tier')
      if (needs.passed?.service_tier && (!takesTier || isUnpricedTier(needs.passed, candidate)))
        leftOut.push('service_tier')
      const isEqual = (target.providerKeyId === null) === (first!.providerKeyId === null)
      return [
        {
          candidate: leftOut.length > 0 ? { ...candidate, leftOut } : candidate,
          isHealthy,
          mayStay: isHealthy && isEqual && mayStay(target.offer, first!.offer, order),
        },
      ]
    })
  }
  const honoursHints = (offer: Offer) =>
    filter.hints.every((name) => meetsParameter(offer, model, name, filter))
  // A hint overrides neither the request's order of providers nor a BYOK key.
  const mayPrefer = pinned.length === 0 && (ownOffers.length === 0 || ownOffers.some(honoursHints))
  const honouring = filter.hints.length > 0 && mayPrefer ? choicesAmong(honoursHints) : []
  // A hint makes no call fail: without a healthy offer that honours all, every offer is used.
  const choices = honouring.some((choice) => choice.isHealthy) ? honouring : choicesAmong(() => true)
  if (choices.length === 0) {
    const isTooLong = model.offers.length > 0 && !model.offers.some(fitsIn)
    const isServed = capacity.own.size + shared.length > 0
    const otherwise = capacity.ownOnly ? 'byok-keys' : isServed ? 'preferences' : 'unserved'
    obstacles.add(isTooLong ? 'context' : otherwise)
  }
  return choices
}

/** Why a model is not a candidate, whatever its offers; null if it may be one. */
function obstacleOf(
  model: Model,
  capacity: ModelCapacity,
  needs: CallNeeds,
  filter: OfferFilter,
): Obstacle | null {
  const { permitted, onlyWire } = filter
  const hasOffer = (isUsable: (offer: Offer) => boolean) => usableOffers(capacity).some(isUsable)
  if (permitted && !hasOffer(({ provider }) => permitted.has(provider.id))) return 'allow-list'
  if (onlyWire && !hasOffer(({ provider }) => speaks(provider, filter))) return 'wire'
  if (!takesInput(model, needs)) return 'shape'
  if (needs.result?.isDoneBy?.(model) === false) return 'result'
  return needs.prompt.textTokensAtLeast >= model.contextLength ? 'context' : null
}

/** The offers of a model that a client may use. */
export interface ModelCapacity {
  /** With the client's keys at their providers, oldest first. */
  own: ReadonlyMap<Offer, readonly string[]>
  /** With our keys. */
  shared: readonly Offer[]
  /** One of the client's keys forbids falling back to shared capacity. */
  ownOnly: boolean
}

/** The offers that a call may reach with any key. */
export const usableOffers = ({ own, shared }: ModelCapacity): Offer[] => [...own.keys(), ...shared]

const sharedCapacity = oncePer(
  ({ offers }: Model): ModelCapacity => ({
    own: new Map(),
    shared: offers.filter((offer) => offer.shared),
    ownOnly: false,
  }),
)

/**
 * Splits a model's offers into those on the client's BYOK keys and those on shared capacity. A key that does not
 * permit fallback closes shared capacity for every model that it could serve: its owner expects to pay the provider,
 * and no failure may turn that into a charge by us. The same applies if the provider no longer lists the model, so
 * that a withdrawn offer closes it too.
 */
export function capacityFor(model: Model, keys: readonly ByokKey[]): ModelCapacity {
  const withoutKeys = sharedCapacity(model)
  if (keys.length === 0) return withoutKeys
  const own = new Map<Offer, string[]>()
  let ownOnly = false
  const keysFor = ({ provider }: Offer) => {
    const fitting = keys.filter((key) => key.providerId === provider.id && takesByokKeys(provider))
    ownOnly ||= fitting.some((key) => !key.allowFallback)
    return fitting.map((key) => key.id)
  }
  for (const offer of model.offers) {
    const ids = keysFor(offer)
    if (ids.length > 0) own.set(offer, ids)
  }
  for (const { offer } of model.withdrawn ?? []) keysFor(offer)
  return { own, shared: ownOnly ? [] : withoutKeys.shared, ownOnly }
}

/**
 * The parameter that excludes a request from every offer that its other preferences allow: one that none of them
 * supports, or otherwise one that the first does not. Null if another reason excludes some of them.
 */
export function unmetParameter(
  entries: readonly PlanEntry[],
  { needs, filter }: PlanInput,
  { byokKeys = [] }: PlanOptions,
): string | null {
  const otherwise = { ...filter, parameters: [] }
  const unmet = entries
    .filter(({ model }) => takesInput(model, needs))
    .flatMap(({ model, exactTools }) =>
      usableOffers(capacityFor(model, byokKeys))
        .filter((offer) => isAllowed(offer, model, otherwise, exactTools))
        .map((offer) => filter.parameters.filter((name) => !meetsParameter(offer, model, name, filter))),
    )
  if (unmet.length === 0 || unmet.some((names) => names.length === 0)) return null
  return filter.parameters.find((name) => unmet.every((names) => names.includes(name))) ?? unmet[0]![0]!
}
