import type { AutoPrompt, CallNeeds, CallSize } from '../calls/kinds/call-kind.ts'
import type { CatalogSnapshot, Model } from '../catalog/catalog.ts'
import { LEAST_CACHED_TOKENS } from '../routing/likely-cost.ts'
import { takesInput } from '../routing/plan-candidate.ts'
import { type AutoLadder, autoLadder } from './auto-ladder.ts'
import { type TurnReading, turnsOf } from './difficulty/score-turns.ts'
import { easeOf, expectedQuality } from './model-quality.ts'
import type { TaskKind } from './quality-figure.ts'
import type { AutoDecision, PointPrices, RoutingProfile } from './routing-profiles.ts'
import { type ConversationTurn, type Stay, staysOn } from './stay.ts'

export interface AutoChoice extends AutoDecision {
  kind: TaskKind
  /** The model that the conversation stays on, then best value first. Empty only if the catalog has no model for `auto`. */
  models: Model[]
  /** Why a conversation stays on its model or leaves it; absent if no model has any of it in a priced cache. */
  stay?: Stay
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
 * higher quality, and it excludes a model if a newer one of its line costs less and can take the request too. A
 * conversation stays on its model while the cached input there saves more than the best model gains.
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
  const valuation = valueModels(prompt, catalog)
  const { kind, score } = valuation
  const { known, usual, all } = ladder
  const turns = needs.pricesCache ? valuedTurns(prompt, catalog) : []
  const needsTools = profile === 'agentic' || tools > 0
  const fits = (model: Model) => isPermitted(model) && canTake(model, needs, needsTools)
  const fitsAndUsable = (model: Model) => fits(model) && isUsable(model)
  const attempts: Array<[AutoLadder['usual'], (model: Model) => boolean]> = [
    [known, fitsAndUsable],
    [usual, fitsAndUsable],
    [all, fitsAndUsable],
    [usual, fits],
    [usual, isPermitted],
    [all, isPermitted],
  ]
  if (profile === 'agentic')
    attempts.unshift([known, (model) => hasExactTools(model) && fitsAndUsable(model)])
  for (const [index, [indexes, accepts]] of attempts.entries()) {
    const inOrder = (turn: Valuation) => acceptedInOrder(ladder, indexes, turn, accepts)
    const stay = staysOn(turns, (turn) => inOrder(turn).next().value)
    const models = bestValues(ladder, inOrder(valuation), stay?.stays ? stay.model : undefined)
    if (models.length === 0) continue
    const exactTools = profile === 'agentic' && index === 0
    return { score, kind, profile, models, ...(stay && { stay }), exactTools }
  }
  return { score, kind, profile, models: [], exactTools: false }
}

const hasExactTools = (model: Model): boolean =>
  model.offers.some(({ shared, exactTools }) => shared && exactTools)

/** What `auto` expects of the models of the ladder for one prompt, by index. */
export interface Valuation extends ConversationTurn {
  kind: TaskKind
  score: number
  /** Expected share of such calls that are answered well. */
  qualityAt(index: number): number
  /** Expected tokens of the completion, reasoning included. */
  tokensAt(index: number): number
  /** USD of 1,000 such calls, as the client pays them, where no part of the prompt is cached. */
  usdPer1000At(index: number): number
}

const CALLS = 1_000
const POINTS = 100

type ValuedCatalog = Pick<CatalogSnapshot, 'autoLadder' | 'autoPointUsd'>

/** The valuation of the models for the call itself. */
export function valueModels(prompt: AutoPrompt, catalog: ValuedCatalog): Valuation {
  return valuationOf(prompt, turnsOf(prompt), prompt.size, catalog)
}

/**
 * The same for the calls of the conversation, oldest first, the call itself last. Empty if none of it can be cached.
 * The messages alone decide, so every instance finds the same, and no conversation is remembered.
 */
function valuedTurns(prompt: AutoPrompt, catalog: ValuedCatalog): Valuation[] {
  const { size, turnSizes } = prompt
  if (size.repeatedTokens < LEAST_CACHED_TOKENS) return []
  const turns = turnsOf(prompt)
  const sizes = turnSizes.slice(-turns.length)
  const began = sizes.map((turnSize, index) =>
    valuationOf(prompt, turns.slice(0, index + 1), turnSize, catalog),
  )
  const isFirstOfTurn = sizes.at(-1)?.promptTokens === size.promptTokens
  return isFirstOfTurn ? began : [...began, valuationOf(prompt, turns, size, catalog)]
}

function valuationOf(
  { profile, tools, effort }: Pick<AutoPrompt, 'profile' | 'tools' | 'effort'>,
  turns: readonly TurnReading[],
  { promptTokens, repeatedTokens }: CallSize,
  catalog: ValuedCatalog,
): Valuation {
  const ladder = autoLadder(catalog.autoLadder)
  const { score, kind: asked } = turns.at(-1)!
  const kind = profile === 'agentic' || tools > 0 ? 'agentic' : asked
  const ease = easeOf(kind, heldScore(turns.map((turn) => turn.score)))
  const pointUsd = pointUsdOf(profile, catalog)
  const cached = repeatedTokens < LEAST_CACHED_TOKENS ? 0 : repeatedTokens
  const abilities = ladder.abilityOf[kind]
  const qualityAt = (index: number) => expectedQuality(abilities[index]!, ease)
  const tokens = ladder.tokensAt(kind, effort)
  const usdPer1000At = (index: number) =>
    CALLS * (promptTokens * ladder.promptUsd[index]! + tokens[index]! * ladder.completionUsd[index]!)
  return {
    kind,
    score,
    pointUsd,
    qualityAt,
    tokensAt: (index) => tokens[index]!,
    usdPer1000At,
    valueAt: (index) => POINTS * qualityAt(index) - usdPer1000At(index) / pointUsd,
    savedUsdPer1000At: (index) => CALLS * cached * (ladder.promptUsd[index]! - ladder.cachedUsd[index]!),
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

/** The accepted models, best value first. A model is left out if a newer one of its line costs less and is accepted too. */
function* acceptedInOrder(
  { models, betterBuys }: AutoLadder,
  indexes: readonly number[],
  { valueAt }: ConversationTurn,
  isAccepted: (model: Model) => boolean,
): Generator<number, undefined> {
  const accepts = (index: number) => isAccepted(models[index]!)
  for (const index of inOrderOfValue(indexes, valueAt)) {
    if (accepts(index) && !betterBuys.get(index)?.some(accepts)) yield index
  }
}

/** All indexes from the highest value down; of equal ones the first. Few are taken, so it searches instead of sorting. */
function* inOrderOfValue(indexes: readonly number[], valueAt: (index: number) => number): Generator<number> {
  const values = Float64Array.from(indexes, valueAt)
  for (let taken = 0; taken < indexes.length; taken++) {
    let best = 0
    for (let at = 1; at < values.length; at++) if (values[at]! > values[best]!) best = at
    values[best] = Number.NEGATIVE_INFINITY
    yield indexes[best]!
  }
}

/**
 * The first models of a sequence, after the one that the conversation stays on. Each one after the first is of a vendor
 * not yet chosen if possible, so that an outage of one vendor leaves a model.
 */
function bestValues({ models }: AutoLadder, sequence: Iterable<number>, stayed: number | undefined): Model[] {
  const chosen: Model[] = stayed === undefined ? [] : [models[stayed]!]
  const spare: Model[] = []
  for (const index of sequence) {
    if (index === stayed) continue
    const model = models[index]!
    const isOfOther = chosen.every(({ vendor }) => vendor !== model.vendor)
    ;(isOfOther ? chosen : spare).push(model)
    if (chosen.length === MODELS_TRIED || spare.length === MOST_COMPARED) break
  }
  return [...chosen, ...spare].slice(0, MODELS_TRIED)
}

export function canTake(model: Model, needs: CallNeeds, needsTools: boolean): boolean {
  return (
    takesInput(model, needs) &&
    needs.prompt.textTokensAtLeast < model.contextLength &&
    (!needsTools || model.supportedParameters.includes('tools'))
  )
}
