import type { ChatContent } from '../calls/chat-request.ts'
import { chatNeeds } from '../calls/kinds/chat.ts'
import type { CatalogSnapshot, Model } from '../catalog/catalog.ts'
import { autoLadder } from './auto-ladder.ts'
import { chooseAutoModels, pointUsdOf, valueModels } from './auto-routing.ts'
import { FEATURES, promptFeatures } from './difficulty/prompt-features.ts'
import {
  INPUTS_OF,
  lastQuestion,
  modelInputs,
  SHIPPED_MODEL,
  standardized,
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
  usdPer1000: number
  /** Points of quality, less the cost in points. */
  value: number
}

const FEATURES_SHOWN = 8

/** Explains the choice of `auto` for a request under each routing profile, where cached input has its own price. */
export function explainAuto(content: ChatContent, catalog: CatalogSnapshot): AutoExplanation {
  const profiles = ROUTING_PROFILES.map((profile) =>
    explainProfile({ ...content, routingProfile: profile }, catalog),
  )
  const { auto } = chatNeeds(content)
  return {
    ...auto.turns().at(-1)!,
    features: effects(lastQuestion(content.messages)),
    profiles,
  }
}

function explainProfile(content: ChatContent, catalog: CatalogSnapshot): ProfileExplanation {
  const needs = { ...chatNeeds(content), pricesCache: true }
  const { profile, models, stay } = chooseAutoModels(needs.auto, needs, catalog, () => true)
  const { kind, qualityAt, usdPer1000At, valueAt } = valueModels(needs.auto, catalog)
  const ladder = autoLadder(catalog.autoLadder)
  const candidateOf = (model: Model): Candidate => {
    const index = ladder.models.indexOf(model)
    return {
      model: model.id,
      quality: qualityAt(index),
      basis: ladder.abilities[index]![kind].basis,
      usdPer1000: usdPer1000At(index),
      value: valueAt(index),
    }
  }
  return {
    profile,
    pointUsd: pointUsdOf(profile, catalog),
    models: models.map(({ id }) => id),
    candidates: models.map(candidateOf),
    ...(stay && {
      stay: { ...stay, model: ladder.models[stay.model]!.id, best: ladder.models[stay.best]!.id },
    }),
  }
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
