import type { ChatContent } from '../calls/chat-request.ts'
import { chatNeeds } from '../calls/kinds/chat.ts'
import type { CatalogSnapshot } from '../catalog/catalog.ts'
import { autoLadder } from './auto-ladder.ts'
import { chooseAutoModels, DEFAULT_POINT_USD, valueModels } from './auto-routing.ts'
import type { PointPrices, RoutingProfile } from './routing-profiles.ts'

/** The spend of each profile as a share of the spend at the price of a point at which cost hardly matters. */
const SHARE_OF_BEST: PointPrices = { eco: 0.1, auto: 0.4, premium: 0.6, agentic: 0.5 }
const BEST_POINT_USD = 1_000
const LEAST_POINT_USD = 0.001
const STEPS = 24
const DIGITS = 3

type Prompt = Pick<ChatContent, 'messages' | 'parameters'>

/** Computes prices of a point at which the given traffic costs the usual shares. Without traffic: the defaults. */
export function fittedPointUsd(traffic: readonly Prompt[], catalog: CatalogSnapshot): PointPrices {
  if (traffic.length === 0) return DEFAULT_POINT_USD
  const priceFor = (profile: RoutingProfile) => {
    const prompts = traffic.map((prompt) => chatNeeds({ ...prompt, routingProfile: profile }))
    const spend = (pointUsd: number) => {
      const priced = { ...catalog, autoPointUsd: { [profile]: pointUsd } }
      return prompts.reduce((sum, needs) => {
        const [first] = chooseAutoModels(needs.auto, needs, priced, () => true).models
        const index = first ? autoLadder(catalog.autoLadder).models.indexOf(first) : -1
        return index < 0 ? sum : sum + valueModels(needs.auto, priced).usdPer1000At(index)
      }, 0)
    }
    const target = SHARE_OF_BEST[profile] * spend(BEST_POINT_USD)
    let [low, high] = [Math.log(LEAST_POINT_USD), Math.log(BEST_POINT_USD)]
    for (let step = 0; step < STEPS; step++) {
      const middle = (low + high) / 2
      if (spend(Math.exp(middle)) > target) high = middle
      else low = middle
    }
    return Number(Math.exp(low).toPrecision(DIGITS))
  }
  return {
    eco: priceFor('eco'),
    auto: priceFor('auto'),
    premium: priceFor('premium'),
    agentic: priceFor('agentic'),
  }
}
