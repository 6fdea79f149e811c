import type { AutoPrompt, CallNeeds } from '../calls/kinds/call-kind.ts'
import type { CatalogSnapshot, Model } from '../catalog/catalog.ts'
import { takesInput } from '../routing/plan-candidate.ts'
import { type AutoLadder, autoLadder } from './auto-ladder.ts'
import { easeOf, expectedQuality } from './model-quality.ts'
import type { TaskKind } from './quality-figure.ts'
import type { AutoDecision, PointPrices, RoutingProfile } from './tiers.ts'
import { inOrderOfValue, type ValueTree } from './value-tree.ts'

export interface AutoChoice extends AutoDecision {
  kind: TaskKind
  /** Best value first. Empty only if the catalog has no model for `auto`. */
  models: Model[]
  /** Every chosen model has an offer that honours tool definitions exactly, and only those are to be used. */
  exactTools: boolean
}

const MODELS_TRIED = 3

/** See PointPrices: one cent, ten cents, one dollar and thirty cents for each further call answered well. */
export const DEFAULT_POINT_USD: PointPrices = { eco: 0.1, auto: 1, premium: 10, agentic: 3 }

export const pointUsdOf = (
  profile: RoutingProfile,
  { autoPointUsd }: Pick<CatalogSnapshot, 'autoPointUsd'>,
): number => autoPointUsd?.[profile] ?? DEFAULT_POINT_USD[profile]

/**
 * Chooses the models for a request to `auto`, best value first: expected quality at the kind and the difficulty of the
 * prompt, less the expected cost at the profile's price of a point. So a model is never chosen over a cheaper one of
 * higher quality, and it excludes a model if a newer one of its line costs less and can take the request too.
 * `isUsable` returns whether a model satisfies the request's preferences, `isPermitted` whether the client's key may
 * use it. If no model is left, it chooses among the permitted ones without the preferences, so that the plan can report
 * what rules them out.
 */
export function chooseAutoModels(
  prompt: AutoPrompt,
  needs: CallNeeds,
  catalog: CatalogSnapshot,
  isUsable: (model: Model) => boolean,
  isPermitted: (model: Model) => boolean = () => true,
): AutoChoice {
  const { profile, tools } = prompt
  const ladder = autoLadder(catalog.autoLadder)
  const valuation = valueModels(prompt, needs, catalog)
  const { kind, score } = valuation
  const { [kind]: usual } = ladder.usual
  const { [kind]: all } = ladder.all
  const needsTools = profile === 'agentic' || tools > 0
  const fits = (model: Model) => isPermitted(model) && canTake(model, needs, needsTools)
  const fitsAndUsable = (model: Model) => fits(model) && isUsable(model)
  const attempts: Array<[ValueTree, (model: Model) => boolean]> = [
    [usual, fitsAndUsable],
    [all, fitsAndUsable],
    [usual, fits],
    [usual, isPermitted],
    [all, isPermitted],
  ]
  if (profile === 'agentic')
    attempts.unshift([usual, (model) => hasExactTools(model) && fitsAndUsable(model)])
  for (const [index, [tree, accepts]] of attempts.entries()) {
    const models = bestValues(ladder, inOrderOfValue(tree, valuation.valueAt), accepts)
    if (models.length === 0) continue
    const exactTools = profile === 'agentic' && index === 0
    return { score, kind, tier: ladder.tiers.get(models[0]!)!, profile, models, exactTools }
  }
  return { score, kind, tier: 'light', profile, models: [], exactTools: false }
}

const hasExactTools = (model: Model): boolean =>
  model.offers.some(({ shared, exactTools }) => shared && exactTools)

/** What `auto` expects of the models of the ladder for one prompt, by index. */
export interface Valuation {
  kind: TaskKind
  score: number
  /** Expected share of such calls that are answered well. */
  qualityAt(index: number): number
  /** USD of 1,000 such calls, as the client pays them. */
  usdPer1000At(index: number): number
  /** Points of quality, less the cost in points. */
  valueAt(index: number): number
}

/** The assumed length of a completion in tokens. A guess; it matters only where prompt and completion prices diverge. */
export const COMPLETION_TOKENS: Record<TaskKind, number> = {
  code: 800,
  worded_options: 300,
  numeric_options: 450,
  formulas: 600,
  chat: 350,
  agentic: 300,
  other: 450,
}
const CALLS = 1_000
const POINTS = 100

export function valueModels(
  { profile, turns: readTurns, promptTokens, repeatedTokens }: AutoPrompt,
  { pricesCache }: Pick<CallNeeds, 'pricesCache'>,
  catalog: Pick<CatalogSnapshot, 'autoLadder' | 'autoPointUsd'>,
): Valuation {
  const ladder = autoLadder(catalog.autoLadder)
  const turns = readTurns()
  const { score, kind: asked } = turns.at(-1)!
  const kind = profile === 'agentic' ? 'agentic' : asked
  const ease = easeOf(kind, heldScore(turns.map((turn) => turn.score)))
  const pointUsd = pointUsdOf(profile, catalog)
  const cached = pricesCache ? repeatedTokens : 0
  const abilities = ladder.abilityOf[kind]
  const qualityAt = (index: number) => expectedQuality(abilities[index]!, ease)
  const usdPer1000At = (index: number) =>
    CALLS *
    ((promptTokens - cached) * ladder.promptUsd[index]! +
      cached * ladder.cachedUsd[index]! +
      COMPLETION_TOKENS[kind] * ladder.completionUsd[index]!)
  return {
    kind,
    score,
    qualityAt,
    usdPer1000At,
    valueAt: (index) => POINTS * qualityAt(index) - usdPer1000At(index) / pointUsd,
  }
}

/** A conversation gets easier only when its score is this far below what it was. */
const STICKINESS = 0.15

/**
 * The score that a conversation is served at: up at once, down only when the score is well below, so that the target
 * does not alternate.
 */
export function heldScore(scores: readonly number[]): number {
  let held = 0
  for (const score of scores) held = Math.min(Math.max(held, score), score + STICKINESS)
  return held
}

/** After the first model, so many accepted ones are looked at for others of other vendors. */
const MOST_COMPARED = 64

/**
 * The first accepted models of a sequence. Each one after the first is of a vendor not yet chosen if possible, so that an
 * outage of one vendor leaves a model. A model is left out if a newer one of its line costs less and is accepted too.
 */
function bestValues(
  { models, betterBuys }: AutoLadder,
  sequence: Iterable<number>,
  isAccepted: (model: Model) => boolean,
): Model[] {
  const accepts = (index: number) => isAccepted(models[index]!)
  const chosen: Model[] = []
  const spare: Model[] = []
  for (const index of sequence) {
    if (!accepts(index) || betterBuys.get(index)?.some(accepts)) continue
    const model = models[index]!
    const isOfOther = chosen.every(({ vendor }) => vendor !== model.vendor)
    ;(isOfOther ? chosen : spare).push(model)
    if (chosen.length === MODELS_TRIED || spare.length === MOST_COMPARED) break
  }
  return [...chosen, ...spare].slice(0, MODELS_TRIED)
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
