import type { Model } from './catalog.ts'

/** Strength of models, weakest first. */
export const TIERS = ['light', 'standard', 'strong', 'frontier'] as const
export type Tier = (typeof TIERS)[number]

/** The models that `auto` may choose, the one to try first first. */
export interface AutoTiers {
  tiers: Record<Tier, readonly Model[]>
  /** Old and very dear models: only for a request that no other can take. */
  lastResorts: readonly Model[]
}

/** Below this window a model is of an older kind; `auto` uses it only where there is no other. */
const USUAL_CONTEXT_TOKENS = 32_000
/** Above this price a model is for those who name it: USD per million tokens, three of prompt to one of completion. */
const DEAREST_USD = 25
/** Free models stand at the cheap end of a scale of ratios. */
const CHEAPEST_USD = 0.02
const LONG_CONTEXT_TOKENS = 200_000

const PICO_PER_USD_PER_MILLION = 1_000_000

const known = new WeakMap<readonly Model[], AutoTiers>()

/** The tiers of a catalog's ladder. Worked out once for each snapshot. */
export function autoTiers(ladder: readonly Model[]): AutoTiers {
  const found = known.get(ladder) ?? buildTiers(ladder)
  known.set(ladder, found)
  return found
}

/**
 * Sorts models into tiers by price, since price is the one sign of strength that is known of every model: four
 * bands of equal ratio from the cheapest to the dearest. Within a band models are taken for equals in price;
 * those with more signs of a current and well-kept model come first, the cheaper first among those. A model that
 * the catalog puts into a tier stands there, and before the others.
 */
function buildTiers(ladder: readonly Model[]): AutoTiers {
  const isUsual = (model: Model) =>
    model.autoTier !== undefined || (model.contextLength >= USUAL_CONTEXT_TOKENS && usd(model) <= DEAREST_USD)
  const usual = ladder.filter(isUsual)
  const models = usual.length > 0 ? usual : ladder
  const bandOf = priceBands(models.filter((model) => model.autoTier === undefined))
  const tiers: Record<Tier, Model[]> = { light: [], standard: [], strong: [], frontier: [] }
  for (const model of models) tiers[model.autoTier ?? bandOf(model)].push(model)
  const vendors = vendorSizes(ladder)
  const rank = new Map(models.map((model) => [model, merits(model, vendors)]))
  for (const tier of TIERS) {
    tiers[tier].sort(
      (a, b) =>
        Number(b.autoTier !== undefined) - Number(a.autoTier !== undefined) ||
        rank.get(b)! - rank.get(a)! ||
        usd(a) - usd(b) ||
        (a.id < b.id ? -1 : 1),
    )
  }
  return { tiers, lastResorts: usual.length > 0 ? ladder.filter((model) => !isUsual(model)) : [] }
}

/** Four bands of equal ratio between the cheapest and the dearest of some models. */
function priceBands(models: readonly Model[]): (model: Model) => Tier {
  const log = (model: Model) => Math.log(Math.max(CHEAPEST_USD, usd(model)))
  const logs = models.map(log)
  const least = Math.min(...logs)
  const span = Math.max(...logs) - least || 1
  return (model) => {
    const band = Math.floor((TIERS.length * (log(model) - least)) / span)
    return TIERS[Math.min(TIERS.length - 1, band)]!
  }
}

/** Mean list price in USD per million tokens, three of prompt to one of completion. */
function usd({ listPrice }: Model): number {
  return Number(listPrice.prompt * 3n + listPrice.completion) / 4 / PICO_PER_USD_PER_MILLION
}

/** A vendor with so many models in the catalog is no obscure one. */
const ESTABLISHED_VENDOR_MODELS = 10
const ESTABLISHED_VENDOR_MERITS = 2

/** How many models each vendor has. */
function vendorSizes(models: readonly Model[]): Map<string, number> {
  const sizes = new Map<string, number>()
  for (const { vendor } of models) sizes.set(vendor, (sizes.get(vendor) ?? 0) + 1)
  return sizes
}

/** Signs that a model is current, well kept and no obscure one: none alone says much. */
function merits(model: Model, vendors: ReadonlyMap<string, number>): number {
  const providers = new Set(model.offers.filter((offer) => offer.shared).map((offer) => offer.provider.id))
  const signs = [
    model.reasoning,
    model.contextLength >= LONG_CONTEXT_TOKENS,
    model.supportedParameters.includes('tools'),
    model.inputModalities.includes('image'),
    providers.size > 1,
  ].filter(Boolean).length
  const isEstablished = (vendors.get(model.vendor) ?? 0) >= ESTABLISHED_VENDOR_MODELS
  return signs + (isEstablished ? ESTABLISHED_VENDOR_MERITS : 0)
}
