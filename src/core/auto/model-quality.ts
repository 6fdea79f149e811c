import type { Model } from '../catalog/catalog.ts'
import { oncePer } from '../kernel/once-per.ts'
import { listUsd } from './list-usd.ts'
import { compareVersions, type ModelLine, modelLine } from './model-lines.ts'
import { type QualityFigure, TASK_KINDS, type TaskKind } from './quality-figure.ts'

/** How well a model does one kind of task: log-odds on the scale of the published figures. */
export interface Ability {
  value: number
  standardError: number
  /** `measured`: a figure for this kind. Otherwise an estimate: from other kinds, its line or its price. */
  basis: 'measured' | 'other kinds' | 'line' | 'price'
}

export type Abilities = Readonly<Record<TaskKind, Ability>>

/** The mean ability of the measured models of the built-in catalog at each kind, and how models deviate from theirs. */
const TYPICAL: Record<TaskKind, { mean: number; spread: number }> = {
  code: { mean: 0.71, spread: 0.5 },
  worded_options: { mean: -0.09, spread: 0.4 },
  numeric_options: { mean: 0.62, spread: 0.45 },
  formulas: { mean: 0.62, spread: 0.4 },
  chat: { mean: -0.05, spread: 0.3 },
  agentic: { mean: -1.36, spread: 0.7 },
  other: { mean: -0.09, spread: 0.3 },
}

/** Kinds without public figures, and the kind that comes nearest. */
const NEAREST: Partial<Record<TaskKind, TaskKind>> = { worded_options: 'other', numeric_options: 'formulas' }
const CARRIED_OVER = 0.6

/**
 * The level of a model of which only the price is known: a fit over the measured models of the built-in catalog, by
 * list price and whether the model reasons. Its deviation is that of the residuals.
 */
const BY_PRICE = { level: -0.95, perLogUsd: 0.17, reasoning: 1.15, deviation: 0.5 }
const LEAST_USD = 0.02
/** Models of one line differ by this much; an older one than all that are measured is weaker. */
const LINE_DEVIATION = 0.5
const SAME_VERSION_DEVIATION = 0.1
const OLDER_BY = 0.3
/** A successor is better by this for every version between it and the measured model: a little, so that the newest wins. */
const NEWER_BY = 0.05

type Named = ModelLine & { model: Model }

/** The abilities of every model of a catalog's ladder. Computed once for each snapshot. */
export const abilitiesOf = oncePer((ladder: readonly Model[]): ReadonlyMap<Model, Abilities> => {
  const lines = Map.groupBy(
    ladder.map((model): Named => ({ model, ...modelLine(model.id, model.vendor) })),
    ({ model, line }) => `${model.vendor}/${line}`,
  )
  const found = new Map<Model, Abilities>()
  for (const line of lines.values()) {
    const measured = line.filter(({ model }) => levelOf(model) !== null)
    for (const one of measured) found.set(one.model, ofMeasured(one, measured))
    for (const one of line) {
      if (!found.has(one.model)) found.set(one.model, ofUnmeasured(one, { line, measured }, found))
    }
  }
  return found
})

/** Mean and variance of a normal distribution. */
interface Normal {
  mean: number
  variance: number
}

/** The product of two estimates of one quantity. */
function combined(a: Normal, b: Normal): Normal {
  const variance = 1 / (1 / a.variance + 1 / b.variance)
  return { mean: variance * (a.mean / a.variance + b.mean / b.variance), variance }
}

/** A figure as log-odds. A share of exactly 0 or 1 counts as two of a hundred away from it. */
export function logOdds({ value, standardError }: QualityFigure): Normal {
  const share = Math.min(0.98, Math.max(0.02, value))
  const scale = share * (1 - share)
  return { mean: Math.log(share / (1 - share)), variance: (Math.max(0.005, standardError) / scale) ** 2 }
}

/** A model's level over all kinds, from its own figures; null without any. */
function levelOf({ quality }: Model): Normal | null {
  let level: Normal | null = null
  for (const kind of TASK_KINDS) {
    const figure = quality?.[kind]
    if (!figure) continue
    const { mean, variance } = logOdds(figure)
    const { mean: typical, spread } = TYPICAL[kind]
    const one = { mean: mean - typical, variance: variance + spread ** 2 }
    level = level === null ? one : combined(level, one)
  }
  return level
}

/** Its own figures, shrunk towards its own mean, and that towards the mean of its line or the level of its price. */
function ofMeasured(one: Named, line: readonly Named[]): Abilities {
  const { quality = {} } = one.model
  const own = levelOf(one.model)!
  const others = line.filter((other) => other !== one).map((other) => levelOf(other.model)!.mean)
  const prior =
    others.length > 0
      ? { mean: others.reduce((sum, mean) => sum + mean, 0) / others.length, variance: LINE_DEVIATION ** 2 }
      : { mean: levelByPrice(one.model), variance: BY_PRICE.deviation ** 2 }
  const level = combined(own, prior)
  const measured = (kind: TaskKind): Ability | null => {
    const figure = quality[kind]
    if (!figure) return null
    const { mean, spread } = TYPICAL[kind]
    const found = combined(logOdds(figure), {
      mean: level.mean + mean,
      variance: level.variance + spread ** 2,
    })
    return { value: found.mean, standardError: Math.sqrt(found.variance), basis: 'measured' }
  }
  return byKind((kind) => measured(kind) ?? fromOtherKinds(kind, level, measured))
}

function fromOtherKinds(
  kind: TaskKind,
  level: Normal,
  measured: (kind: TaskKind) => Ability | null,
): Ability {
  const nearest = NEAREST[kind]
  const near = nearest && measured(nearest)
  const carried = near ? CARRIED_OVER * (near.value - level.mean - TYPICAL[nearest].mean) : 0
  return {
    value: level.mean + TYPICAL[kind].mean + carried,
    standardError: Math.sqrt(level.variance + TYPICAL[kind].spread ** 2),
    basis: 'other kinds',
  }
}

/**
 * A model without figures is as good as the newest measured one of its line that is not newer: a copy, a faster edition
 * or a successor. Otherwise the price decides. An estimate by price counts
 * one standard error lower: of many such guesses the best is too high.
 */
function ofUnmeasured(
  { model, version }: Named,
  { line, measured }: { line: readonly Named[]; measured: readonly Named[] },
  known: ReadonlyMap<Model, Abilities>,
): Abilities {
  const byVersion = measured.toSorted((a, b) => compareVersions(a.version, b.version))
  const before = byVersion.findLast((other) => compareVersions(other.version, version) <= 0)
  const relative = before ?? byVersion[0]
  if (relative) {
    const isSame = compareVersions(relative.version, version) === 0
    const deviation = isSame ? SAME_VERSION_DEVIATION : LINE_DEVIATION
    const steps = new Set(
      line
        .filter(
          (other) =>
            compareVersions(other.version, relative.version) > 0 &&
            compareVersions(other.version, version) <= 0,
        )
        .map((other) => other.version.join()),
    ).size
    const difference = before ? NEWER_BY * steps : -OLDER_BY
    return byKind((kind): Ability => {
      const { value, standardError } = known.get(relative.model)![kind]
      return { value: value + difference, standardError: Math.hypot(standardError, deviation), basis: 'line' }
    })
  }
  const level = levelByPrice(model) - BY_PRICE.deviation
  return byKind(
    (kind): Ability => ({
      value: level + TYPICAL[kind].mean,
      standardError: Math.hypot(BY_PRICE.deviation, TYPICAL[kind].spread),
      basis: 'price',
    }),
  )
}

const levelByPrice = (model: Model): number =>
  BY_PRICE.level +
  BY_PRICE.perLogUsd * Math.log(Math.max(LEAST_USD, listUsd(model))) +
  (model.reasoning ? BY_PRICE.reasoning : 0)

const byKind = (of: (kind: TaskKind) => Ability): Abilities =>
  Object.fromEntries(TASK_KINDS.map((kind) => [kind, of(kind)])) as Record<TaskKind, Ability>

/** How ability and difficulty make the expected quality: a logistic over both, in log-odds. */
export interface QualityCurve {
  perAbility: number
  perDifficulty: number
  /** How much easier prompts of each kind are than the published tasks. */
  ease: Record<TaskKind, number>
}

/**
 * A fit over the training data, each named model with its published ability (`npm run router:eval` prints it, and measures
 * it with every family left out). Kinds that the data lacks have the mean of the others.
 */
export const SHIPPED_CURVE: QualityCurve = {
  perAbility: 1,
  perDifficulty: 0.5,
  ease: {
    code: 1.9,
    worded_options: 2,
    numeric_options: 1.2,
    formulas: 3.2,
    chat: 2.1,
    agentic: 2.1,
    other: 2.1,
  },
}
const LEAST_SCORE = 0.01

/** A difficulty of 0 to 1 as log-odds. */
export function difficultyOf(score: number): number {
  const share = Math.min(1 - LEAST_SCORE, Math.max(LEAST_SCORE, score))
  return Math.log(share / (1 - share))
}

/** The log-odds that every ability of a kind is added to, at a difficulty of 0 to 1. */
export const easeOf = (kind: TaskKind, score: number, curve = SHIPPED_CURVE): number =>
  curve.ease[kind] - curve.perDifficulty * difficultyOf(score)

/** The expected share of such prompts that a model answers well. */
export const expectedQuality = (ability: number, ease: number, { perAbility } = SHIPPED_CURVE): number =>
  1 / (1 + Math.exp(-(perAbility * ability + ease)))
