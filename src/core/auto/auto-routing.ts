import type { AutoPrompt, CallNeeds } from '../calls/kinds/call-kind.ts'
import type { CatalogSnapshot, Model } from '../catalog/catalog.ts'
import { takesInput } from '../routing/plan-candidate.ts'
import { type AutoTiers, autoTiers } from './auto-tiers.ts'
import { type AutoBounds, type AutoDecision, TIERS, type Tier, type TierBounds } from './tiers.ts'

export interface AutoChoice extends AutoDecision {
  /** Best fit first. Empty only if the catalog has no model for `auto`. */
  models: Model[]
}

const MODELS_TRIED = 3
const MODELS_OF_OWN_TIER = 2

/**
 * Chooses the models for a request to `auto`, best fit first: those of the tier that its difficulty and its profile
 * select, then of the nearest tiers, the stronger first. It excludes a model if a newer one of its line costs less and
 * can take the request too. `isUsable` returns whether a model satisfies the request's preferences, `isPermitted`
 * whether the client's key may use it. If no model is left, it chooses among the permitted ones without the
 * preferences, so that the plan can report what rules them out.
 */
export function chooseAutoModels(
  { profile, scores: scoresOf, tools, toolResults }: AutoPrompt,
  needs: CallNeeds,
  catalog: CatalogSnapshot,
  isUsable: (model: Model) => boolean,
  isPermitted: (model: Model) => boolean = () => true,
): AutoChoice {
  const scores = scoresOf()
  const score = scores.at(-1)!
  const byScore = tierOf(scores, catalog.autoBounds?.[profile] ?? DEFAULT_BOUNDS[profile])
  const tier = profile === 'agentic' ? agenticTier(tools, toolResults, byScore) : byScore
  const { tiers, lastResorts, betterBuys } = autoTiers(catalog.autoLadder)
  const needsTools = profile === 'agentic' || tools > 0
  const fits = (model: Model) => isPermitted(model) && canTake(model, needs, needsTools)
  const unsurpassed = (accepts: (model: Model) => boolean) => (model: Model) =>
    accepts(model) && !betterBuys.get(model)?.some(accepts)
  const fitsAndUsable = unsurpassed((model) => fits(model) && isUsable(model))
  const attempts = [
    () => rank(tiers, tier, fitsAndUsable),
    () => lastResorts.filter(fitsAndUsable).slice(0, MODELS_TRIED),
    () => rank(tiers, tier, unsurpassed(fits)),
    () => rank(tiers, tier, unsurpassed(isPermitted)),
  ]
  for (const attempt of attempts) {
    const models = attempt()
    if (models.length > 0) return { score, tier, profile, models }
  }
  return { score, tier, profile, models: [] }
}

const MANY_TOOLS = 16
const MANY_TOOL_RESULTS = 8

/** Work with tools is rated by its shape: the number of tools, and the number of tool results so far. */
function agenticTier(tools: number, results: number, byScore: Tier): Tier {
  if (tools >= MANY_TOOLS || results >= MANY_TOOL_RESULTS) return 'frontier'
  const isWeak = byScore === 'light' || byScore === 'standard'
  return isWeak && (tools > 0 || results > 0) ? 'strong' : byScore
}

function rank(tiers: AutoTiers['tiers'], tier: Tier, accepts: (model: Model) => boolean): Model[] {
  const ranked = best(tiers[tier], accepts)
  for (const other of nearestFirst(tier)) {
    if (ranked.length >= MODELS_TRIED) break
    const next = tiers[other].find(accepts)
    if (next) ranked.push(next)
  }
  return ranked
}

/** The best model of a tier and, as a fallback, the next of another vendor, or otherwise of the same. */
function best(models: readonly Model[], accepts: (model: Model) => boolean): Model[] {
  const first = models.find(accepts)
  if (!first) return []
  const others = models.filter((model) => model !== first)
  const second =
    others.find((model) => model.vendor !== first.vendor && accepts(model)) ?? others.find(accepts)
  return second ? [first, second].slice(0, MODELS_OF_OWN_TIER) : [first]
}

/** The other tiers by distance, the stronger first. */
function nearestFirst(tier: Tier): Tier[] {
  const place = TIERS.indexOf(tier)
  return TIERS.filter((other) => other !== tier).sort((a, b) => {
    const [nearA, nearB] = [a, b].map((other) => Math.abs(TIERS.indexOf(other) - place)) as [number, number]
    return nearA - nearB || TIERS.indexOf(b) - TIERS.indexOf(a)
  })
}

function canTake(model: Model, needs: CallNeeds, needsTools: boolean): boolean {
  return (
    takesInput(model, needs) &&
    needs.prompt.textTokensAtLeast < model.contextLength &&
    (!needsTools || model.supportedParameters.includes('tools'))
  )
}

/** The model name that leaves the choice to the gateway. */
export const AUTO_MODEL = 'auto'

/**
 * Whether a requested name, including its suffix, leaves the choice to the gateway, which then does not disclose its
 * target.
 */
export const isAutoModel = (asked: string): boolean => asked.split(':', 1)[0] === AUTO_MODEL

/**
 * The bounds unless the catalog sets others. Small talk and look-ups score below 0.2; scores of examination questions
 * are about evenly spread. Under `auto` and `agentic` at most 5% of mixed traffic reaches the fourth tier by its score,
 * according to `mixedScores` of the weights.
 */
export const DEFAULT_BOUNDS: AutoBounds = {
  eco: [0.5, 0.85],
  auto: [0.25, 0.5, 0.96],
  premium: [0, 0.2, 0.5],
  agentic: [0, 0.3, 0.96],
}

/** A conversation leaves a tier only when its score is this far below the bound of the tier. */
const STICKINESS = 0.15

/**
 * The tier of a conversation, by its scores after each turn: up at once, down only when the score is well below the
 * bound, so that the target does not alternate.
 */
export function tierOf(scores: readonly number[], bounds: TierBounds): Tier {
  const place = (score: number) => bounds.filter((bound) => score >= bound).length
  let current = 0
  for (const score of scores) {
    current = Math.min(Math.max(current, place(score)), place(score + STICKINESS))
  }
  return TIERS[current]!
}

/** The share of calls below each bound when bounds are fitted to traffic. */
const SHARES_BELOW: AutoBounds = {
  eco: [0.75, 0.97],
  auto: [0.4, 0.8, 0.97],
  premium: [0, 0.35, 0.75],
  agentic: [0, 0.5, 0.96],
}

/** Computes bounds that divide the given scores into tiers of the usual sizes. Without scores: the default bounds. */
export function boundsFitting(scores: readonly number[]): AutoBounds {
  if (scores.length === 0) return DEFAULT_BOUNDS
  const sorted = scores.toSorted((a, b) => a - b)
  const at = (share: number) =>
    share === 0
      ? 0
      : Number(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!.toFixed(4))
  return {
    eco: SHARES_BELOW.eco.map(at),
    auto: SHARES_BELOW.auto.map(at),
    premium: SHARES_BELOW.premium.map(at),
    agentic: SHARES_BELOW.agentic.map(at),
  }
}
