import type { ChatContent } from '../calls/chat-request.ts'
import { chatNeeds } from '../calls/kinds/chat.ts'
import type { CatalogSnapshot, Model } from '../catalog/catalog.ts'
import { type AutoLadder, autoLadder, type LeftOut } from './auto-ladder.ts'
import { canTake, chooseAutoModels, pointUsdOf, valueModels } from './auto-routing.ts'
import { FEATURES, promptFeatures } from './difficulty/prompt-features.ts'
import {
  INPUTS_OF,
  lastQuestion,
  modelInputs,
  SHIPPED_MODEL,
  standardized,
  turnsOf,
} from './difficulty/score-turns.ts'
import type { Ability } from './model-quality.ts'
import type { TaskKind } from './quality-figure.ts'
import { ROUTING_PROFILES, type RoutingProfile } from './routing-profiles.ts'
import type { Stay } from './stay.ts'

/** The reasons for a choice by `auto`. For operators only, because it names the targets. */
export interface AutoExplanation {
  score: number
  kind: TaskKind
  /** The features with the largest effect on the last question, in standard deviations of the sum: positive is harder. */
  features: Array<{ name: string; effect: number }>
  profiles: ProfileExplanation[]
}

interface ProfileExplanation {
  profile: RoutingProfile
  /** The price of a point; see PointPrices. */
  pointUsd: number
  /** In the order in which they are tried. */
  models: string[]
  candidates: Candidate[]
  /** Models of more value than the first that are not tried, best value first. */
  excluded: Array<Candidate & { reason: Exclusion }>
  /** For a conversation: the model it was on, and whether it stays there. */
  stay?: StayExplanation
}

interface StayExplanation extends Omit<Stay, 'model' | 'best'> {
  model: string
  best: string
}

interface Candidate {
  model: string
  /** Expected share of such calls answered well. */
  quality: number
  basis: Ability['basis']
  /** Expected tokens of the completion, reasoning included. */
  tokens: number
  usdPer1000: number
  /** Points of quality, less the cost in points. */
  value: number
}

type Exclusion = LeftOut | 'cannot take the request' | 'no offer with exact tools' | `replaced by ${string}`

const FEATURES_SHOWN = 8
const EXCLUDED_SHOWN = 5

/** Explains the choice of `auto` for a request under each routing profile, where cached input has its own price. */
export function explainAuto(content: ChatContent, catalog: CatalogSnapshot): AutoExplanation {
  const profiles = ROUTING_PROFILES.map((profile) =>
    explainProfile({ ...content, routingProfile: profile }, catalog),
  )
  const { auto } = chatNeeds(content)
  return {
    ...turnsOf(auto).at(-1)!,
    features: effects(lastQuestion(content.messages)),
    profiles,
  }
}

function explainProfile(content: ChatContent, catalog: CatalogSnapshot): ProfileExplanation {
  const needs = { ...chatNeeds(content), pricesCache: true }
  const { profile, models, stay } = chooseAutoModels(needs.auto, needs, catalog, () => true)
  const { kind, qualityAt, tokensAt, usdPer1000At, valueAt } = valueModels(needs.auto, catalog)
  const ladder = autoLadder(catalog.autoLadder)
  const candidateAt = (index: number): Candidate => {
    return {
      model: ladder.models[index]!.id,
      quality: qualityAt(index),
      basis: ladder.abilities[index]![kind].basis,
      tokens: Math.round(tokensAt(index)),
      usdPer1000: usdPer1000At(index),
      value: valueAt(index),
    }
  }
  const needsTools = profile === 'agentic' || needs.auto.tools > 0
  const accepts = (model: Model) => canTake(model, needs, needsTools)
  const first = ladder.models.indexOf(models[0]!)
  const excluded = ladder.all
    .filter((index) => first >= 0 && valueAt(index) > valueAt(first))
    .sort((a, b) => valueAt(b) - valueAt(a))
    .slice(0, EXCLUDED_SHOWN)
    .map((index) => ({ ...candidateAt(index), reason: exclusionOf(index, ladder, accepts) }))
  return {
    profile,
    pointUsd: pointUsdOf(profile, catalog),
    models: models.map(({ id }) => id),
    candidates: models.map((model) => candidateAt(ladder.models.indexOf(model))),
    excluded,
    ...(stay && {
      stay: { ...stay, model: ladder.models[stay.model]!.id, best: ladder.models[stay.best]!.id },
    }),
  }
}

/** Why a model is not tried before the chosen one. */
function exclusionOf(
  index: number,
  { models, leftOut, betterBuys }: AutoLadder,
  accepts: (model: Model) => boolean,
): Exclusion {
  const reason = leftOut[index]
  if (reason) return reason
  if (!accepts(models[index]!)) return 'cannot take the request'
  const better = betterBuys.get(index)?.find((other) => accepts(models[other]!))
  return better === undefined ? 'no offer with exact tools' : `replaced by ${models[better]!.id}`
}

function effects(question: string): AutoExplanation['features'] {
  const model = SHIPPED_MODEL
  const inputs = modelInputs(standardized(promptFeatures(question, model.rarity).values, model))
  const effectOf = (input: number) => (inputs[input]! * model.weights[input]!) / model.deviation
  const sums = FEATURES.map(
    (name, index) => [name, INPUTS_OF[index]!.reduce((sum, input) => sum + effectOf(input), 0)] as const,
  )
  return sums
    .map(([name, effect]) => ({ name, effect }))
    .sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect))
    .slice(0, FEATURES_SHOWN)
}
