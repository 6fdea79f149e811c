import type { Model } from '../catalog/catalog.ts'
import { modelLine } from './model-lines.ts'
import { TIERS, type Tier } from './tiers.ts'

/**
 * Prices from which a model is in the second, third and fourth tier: the gaps in the line-ups of the large vendors.
 * Constant, so that a new model in a large catalog does not move others.
 */
const TIERS_FROM_USD = [0.3, 1.2, 5]
/** The price assumed for free models on the ratio scale. */
const CHEAPEST_USD = 0.02
/** The strongest tier for a model that its maker calls small, whatever its price. */
const STRONGEST_SMALL = TIERS.indexOf('standard')

const PICO_PER_USD_PER_MILLION = 1_000_000

/** Mean list price in USD per million tokens, three of prompt to one of completion. */
export function listUsd({ listPrice }: Model): number {
  return Number(listPrice.prompt * 3n + listPrice.completion) / 4 / PICO_PER_USD_PER_MILLION
}

/** The tier of every model: what the catalog assigns, else that of its price. */
export function priceTiers(models: readonly Model[]): ReadonlyMap<Model, Tier> {
  const byPrice = placeOf(models.filter(({ autoTier }) => autoTier === undefined))
  return new Map(
    models.map((model) => {
      const place = byPrice(model)
      const { isSmall } = modelLine(model.id, model.vendor)
      return [model, model.autoTier ?? TIERS[isSmall ? Math.min(place, STRONGEST_SMALL) : place]!]
    }),
  )
}

/** The place of a price: by the constant bounds if each tier then has a model; otherwise by four bands of equal ratio. */
function placeOf(models: readonly Model[]): (model: Model) => number {
  const byBounds = (model: Model) => TIERS_FROM_USD.filter((bound) => listUsd(model) >= bound).length
  if (new Set(models.map(byBounds)).size === TIERS.length) return byBounds
  const log = (model: Model) => Math.log(Math.max(CHEAPEST_USD, listUsd(model)))
  const logs = models.map(log)
  const least = Math.min(...logs)
  const span = Math.max(...logs) - least || 1
  return (model) => Math.min(TIERS.length - 1, Math.floor((TIERS.length * (log(model) - least)) / span))
}
