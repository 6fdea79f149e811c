import type { ChatContent } from '../calls/chat-request.ts'
import { chatNeeds } from '../calls/kinds/chat.ts'
import type { CatalogSnapshot } from '../catalog/catalog.ts'
import { chooseAutoModels } from './auto-routing.ts'
import { FEATURES, promptFeatures } from './difficulty/prompt-features.ts'
import {
  INPUTS_OF,
  lastQuestion,
  modelInputs,
  SHIPPED_MODEL,
  standardized,
} from './difficulty/score-turns.ts'
import { ROUTING_PROFILES, type RoutingProfile, type Tier } from './tiers.ts'

/** The reasons for a choice by `auto`. For operators only, because it names the targets. */
export interface AutoExplanation {
  score: number
  /** The features with the largest effect on the last question, in standard deviations of the sum: positive is harder. */
  features: Array<{ name: string; effect: number }>
  profiles: Array<{ profile: RoutingProfile; tier: Tier; models: string[] }>
}

const FEATURES_SHOWN = 8

/** Explains the choice of `auto` for a request under each routing profile. */
export function explainAuto(content: ChatContent, catalog: CatalogSnapshot): AutoExplanation {
  const needs = chatNeeds(content)
  const choices = ROUTING_PROFILES.map((profile) =>
    chooseAutoModels({ ...needs.auto, profile }, needs, catalog, () => true),
  )
  return {
    score: choices[0]!.score,
    features: effects(lastQuestion(content.messages)),
    profiles: choices.map(({ profile, tier, models }) => ({
      profile,
      tier,
      models: models.map(({ id }) => id),
    })),
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
