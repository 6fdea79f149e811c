import { formatRate } from '../kernel/money.ts'
import { type CatalogSnapshot, isAvailable, type Model, type Offer, type TokenRates } from './catalog.ts'
import { isLoss } from './catalog-model.ts'
import { PRICE_KINDS, PRICE_NAMES } from './token-rates.ts'

/** Worst first: calls that fail, offers at a loss, models that become free, and all others. */
export const EFFECT_KINDS = ['offline', 'loss', 'free', 'change'] as const
type EffectKind = (typeof EFFECT_KINDS)[number]

/** The effect of a catalog change on the calls of a model, in a sentence; `auto` counts as a model. */
export interface CatalogEffect {
  kind: EffectKind
  model: string
  message: string
}

/** The effects of replacing `before` by `after`, worst first, then by model. Pure. */
export function catalogEffects(before: CatalogSnapshot, after: CatalogSnapshot): CatalogEffect[] {
  const ids = [...new Set([...before.models.keys(), ...after.models.keys()])].sort()
  const effects = ids.flatMap((id) => {
    const one = before.models.get(id)
    const other = after.models.get(id)
    return one === other ? [] : modelEffects(id, one, other)
  })
  if (before.autoLadder.length > 0 && after.autoLadder.length === 0)
    effects.push({
      kind: 'offline',
      model: 'auto',
      message: 'auto will return 503: no model is left to choose',
    })
  return effects.sort((a, b) => EFFECT_KINDS.indexOf(a.kind) - EFFECT_KINDS.indexOf(b.kind))
}

function modelEffects(id: string, before: Model | undefined, after: Model | undefined): CatalogEffect[] {
  const effect = (kind: EffectKind, message: string): CatalogEffect => ({ kind, model: id, message })
  if (!after) return [effect('offline', `${id} will return 404: it is removed from the catalog`)]
  const effects: CatalogEffect[] = []
  const wasAvailable = before !== undefined && isAvailable(before)
  if (!before) effects.push(effect('change', `${id} is added to the catalog`))
  if (isAvailable(after)) {
    if (!wasAvailable) effects.push(effect('change', `${id} can be called`))
  } else if (wasAvailable || !before)
    effects.push(effect('offline', `${id} will return 503: ${unavailableReason(after)}`))
  effects.push(...lossesOf(before, after).map((message) => effect('loss', message)))
  effects.push(...movedOffers(before, after).map((message) => effect('change', message)))
  const free = freeKinds(after.rate).filter((kind) => !before || !freeKinds(before.rate).includes(kind))
  if (free.length > 0) effects.push(effect('free', `${id}: ${free.join(' and ')} will cost nothing`))
  if (before && before.rateVersion !== after.rateVersion)
    effects.push(effect('change', `${id}: ${changedPrices(before.rate, after.rate)}`))
  return effects
}

/** Why no offer of a model is shared. */
function unavailableReason({ offers, withdrawn = [] }: Model): string {
  const reasons = [...offers.map(({ withheld }) => withheld), ...withdrawn.map(({ reason }) => reason)]
  const texts = [...new Set(reasons)].map((reason) => {
    const count = reasons.filter((other) => other === reason).length
    return { count, text: REASONS[reason ?? 'disabled'][count === 1 ? 0 : 1] }
  })
  const [only] = texts
  if (!only) return 'it has no offer'
  if (texts.length === 1) {
    return only.count === 1 ? `its only offer ${only.text}` : `all ${only.count} of its offers ${only.text}`
  }
  return `of its ${reasons.length} offers ${texts.map(({ count, text }) => `${count} ${text}`).join(', ')}`
}

const REASONS = {
  loss: ['costs more than its price', 'cost more than its price'],
  no_key: ['has no platform key', 'have no platform key'],
  disabled: ['is disabled', 'are disabled'],
  unlisted: ['is no longer listed by its provider', 'are no longer listed by their providers'],
} as const

/** Offers that start to lose money: they get no calls, or, if losses are allowed, calls at a loss. */
function lossesOf(before: Model | undefined, after: Model): string[] {
  const known = new Map(before?.offers.map((offer) => [offer.id, offer]))
  const losing = (offer: Offer | undefined, model: Model | undefined): boolean =>
    offer !== undefined && model !== undefined && isLoss(offer.cost, model.rate)
  return after.offers
    .filter((offer) => offer.withheld !== 'no_key')
    .filter((offer) => losing(offer, after) && !losing(known.get(offer.id), before))
    .map(({ provider, cost, shared }) => {
      const prices = `costs ${priceText(cost)} and earns ${priceText(after.rate)}`
      return shared
        ? `${after.id} is sold at a loss at ${provider.id}: it ${prices}`
        : `${provider.id} receives no calls for ${after.id}: it ${prices}`
    })
}

/** Offers that start or stop being shared for reasons other than a loss, if the model is available before and after. */
function movedOffers(before: Model | undefined, after: Model): string[] {
  if (!before || !isAvailable(before) || !isAvailable(after)) return []
  const sharedOf = (model: Model) =>
    new Map(model.offers.filter(({ shared }) => shared).map((one) => [one.id, one]))
  const [was, is] = [sharedOf(before), sharedOf(after)]
  const atLoss = new Set(after.offers.flatMap(({ id, withheld }) => (withheld === 'loss' ? [id] : [])))
  return [
    ...[...was.values()]
      .filter(({ id }) => !is.has(id) && !atLoss.has(id))
      .map(({ provider }) => `${provider.id} receives no calls for ${after.id}`),
    ...[...is.values()]
      .filter(({ id }) => !was.has(id))
      .map(({ provider }) => `${provider.id} receives calls for ${after.id}`),
  ]
}

/** The free parts of a rate. Tokens of a model priced by units are always free. */
const freeKinds = ({ prompt, completion, units }: TokenRates): string[] => {
  if (units !== undefined) return prompt + completion + units === 0n ? ['it'] : []
  return [...(prompt === 0n ? ['input'] : []), ...(completion === 0n ? ['output'] : [])]
}

const priceText = ({ prompt, completion, units }: TokenRates): string =>
  `$${formatRate(prompt)} / $${formatRate(completion)}${units === undefined ? '' : ` / $${formatRate(units)} a million units`}`

/** The changed prices; those of parts of the prompt are named. */
function changedPrices(before: TokenRates, after: TokenRates): string {
  const changed = PRICE_KINDS.filter((kind) => before[kind] !== after[kind])
  const text = (rate: TokenRates, kind: keyof TokenRates) => {
    const price = rate[kind]
    return price === undefined ? 'none' : `$${formatRate(price)}`
  }
  return changed.map((kind) => `${PRICE_WORDS[kind]} ${text(before, kind)} → ${text(after, kind)}`).join(', ')
}

const PRICE_WORDS: Record<keyof TokenRates, string> = {
  ...PRICE_NAMES,
  prompt: 'input',
  completion: 'output',
}
