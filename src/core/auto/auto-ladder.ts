import type { Model } from '../catalog/catalog.ts'
import { oncePer } from '../kernel/once-per.ts'
import { listUsd } from './list-usd.ts'
import { compareVersions, type ModelLine, modelLine } from './model-lines.ts'
import { type Abilities, abilitiesOf, atLeast } from './model-quality.ts'
import { expectedTokens } from './output-tokens.ts'
import { TASK_KINDS, type TaskKind } from './quality-figure.ts'

/** What `auto` knows of the models of a catalog's ladder, by their index in it. */
export interface AutoLadder {
  models: readonly Model[]
  abilities: readonly Abilities[]
  /** The same by kind, for a fast pass over all models. */
  abilityOf: Readonly<Record<TaskKind, Float64Array>>
  /** USD per token that the client pays: of the prompt, of the completion, of a prompt that the provider has in its cache. */
  promptUsd: Float64Array
  completionUsd: Float64Array
  cachedUsd: Float64Array
  /** Expected tokens of a completion by kind and by the effort that the call asks for; absent: the model's default. */
  tokensAt: ReturnType<typeof expectedTokens>
  /** The models to choose among: the usual ones with figures of their own or of the version before. */
  known: readonly number[]
  usual: readonly number[]
  /** The same with old and very expensive models and variants without own figures, for a request that no other can take. */
  all: readonly number[]
  /** Why a model is not among the known ones; null: it is. */
  leftOut: ReadonlyArray<LeftOut | null>
  /** For a model, the newer and cheaper models of its line; absent: none. */
  betterBuys: ReadonlyMap<number, readonly number[]>
}

export type LeftOut = 'a small window' | 'its price' | 'a variant without figures' | 'without figures'

/** A model with a smaller window is of an older generation; `auto` uses it only if there is no other. */
const USUAL_CONTEXT_TOKENS = 32_000
/** A more expensive model must be requested by name: USD per million tokens, three of prompt to one of completion. */
const DEAREST_USD = 25
const PICO_PER_USD = 1e12

/** Computed once for each snapshot. */
export const autoLadder = oncePer((models: readonly Model[]): AutoLadder => {
  const known = abilitiesOf(models)
  const abilities = models.map((model) => known.get(model)!)
  const usd = (rateOf: (model: Model) => bigint) =>
    Float64Array.from(models, (model) => Number(rateOf(model)) / PICO_PER_USD)
  const abilityOf = byKind((kind) => Float64Array.from(abilities, (one) => atLeast(one[kind])))
  const all = [...models.keys()]
  const leftOut = models.map((model, index) => leftOutOf(model, abilities[index]!))
  const within = (reasons: ReadonlyArray<LeftOut | null>) =>
    all.filter((index) => reasons.includes(leftOut[index]!))
  return {
    models,
    abilities,
    abilityOf,
    promptUsd: usd(({ rate }) => rate.prompt),
    completionUsd: usd(({ rate }) => rate.completion),
    cachedUsd: usd(({ rate }) => rate.cacheRead ?? rate.prompt),
    tokensAt: expectedTokens(models),
    known: within([null]),
    usual: within([null, 'without figures']),
    all,
    leftOut,
    betterBuys: betterBuys(models),
  }
})

/** The bases of an estimate that has a published figure behind it. */
const KNOWN = new Set(['measured', 'other kinds', 'line'])

function leftOutOf(model: Model, abilities: Abilities): LeftOut | null {
  if (model.contextLength < USUAL_CONTEXT_TOKENS) return 'a small window'
  if (listUsd(model) > DEAREST_USD) return 'its price'
  if (model.quality === undefined && modelLine(model.id, model.vendor).isVariant)
    return 'a variant without figures'
  return KNOWN.has(abilities.other.basis) ? null : 'without figures'
}

const byKind = <Value>(of: (kind: TaskKind) => Value) =>
  Object.fromEntries(TASK_KINDS.map((kind) => [kind, of(kind)])) as Record<TaskKind, Value>

type NamedModel = ModelLine & { model: Model; index: number }

function betterBuys(models: readonly Model[]): Map<number, number[]> {
  const lines = Map.groupBy(
    models.map((model, index): NamedModel => ({ model, index, ...modelLine(model.id, model.vendor) })),
    ({ model, line }) => `${model.vendor}/${line}`,
  )
  const found = new Map<number, number[]>()
  for (const line of lines.values()) {
    for (const { model, index, version } of line) {
      const better = line.filter(
        (other) => compareVersions(other.version, version) > 0 && listUsd(other.model) < listUsd(model),
      )
      if (better.length > 0)
        found.set(
          index,
          better.map((other) => other.index),
        )
    }
  }
  return found
}
