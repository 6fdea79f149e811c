import type { Model } from '../catalog/catalog.ts'
import { oncePer } from '../kernel/once-per.ts'
import { listUsd } from './list-usd.ts'
import { compareVersions, type ModelLine, modelLine } from './model-lines.ts'
import { type QualityFigure, TASK_KINDS, type TaskKind } from './quality-figure.ts'

/** How well a model does one kind of task: log-odds on the scale of the published figures. */
export interface Ability {
  value: number
  standardError: number
  /** `measured`: a figure for this kind. Otherwise an estimate: from other kinds, the version before it, another relative or its price. */
  basis: 'measured' | 'other kinds' | 'line' | 'relative' | 'price'
}

/** What counts for a choice: nothing wins by what is merely assumed of it. */
export const atLeast = ({ value, standardError }: Ability): number => value - standardError

export type Abilities = Readonly<Record<TaskKind, Ability>>

/** The mean ability of the measured models of the built-in catalog at each kind, and how models deviate from theirs. */
const TYPICAL: Record<TaskKind, { mean: number; spread: number }> = {
  code: { mean: 0.85, spread: 0.45 },
  worded_options: { mean: 0.22, spread: 0.4 },
  numeric_options: { mean: 0.96, spread: 0.45 },
  word_problems: { mean: 0.96, spread: 0.4 },
  formulas: { mean: 0.96, spread: 0.38 },
  proofs: { mean: 0.96, spread: 0.45 },
  chat: { mean: -0.24, spread: 0.39 },
  extraction: { mean: 0.22, spread: 0.35 },
  expertise: { mean: 0.22, spread: 0.35 },
  agentic: { mean: -1.11, spread: 0.47 },
  other: { mean: 0.22, spread: 0.26 },
}

/** Kinds without public figures, and the kind that comes nearest. */
const NEAREST: Partial<Record<TaskKind, TaskKind>> = {
  worded_options: 'other',
  extraction: 'other',
  expertise: 'other',
  numeric_options: 'formulas',
  word_problems: 'formulas',
  proofs: 'formulas',
}
const CARRIED_OVER = 0.6

/**
 * The level of a model of which only the price is known: a fit over the measured models of the built-in catalog, by
 * list price and whether the model reasons. Its deviation is that of the residuals.
 */
const BY_PRICE = { level: -1.29, perLogUsd: 0.22, reasoning: 1.7, deviation: 0.72 }
const LEAST_USD = 0.02
/**
 * The measured models of one line differ by this much from version to version, nearly always upwards. A successor counts
 * with the figure of the measured model before it, less a discount; the deviation grows with the versions between them.
 */
const LINE_DEVIATION = 0.5
const SUCCESSOR_DISCOUNT = 0.1
const SAME_VERSION_DEVIATION = 0.1
const OLDER_BY = 0.5

type Named = ModelLine & { model: Model }

/** The abilities of every model of a catalog's ladder. Computed once for each snapshot. */
export const abilitiesOf = oncePer((ladder: readonly Model[]): ReadonlyMap<Model, Abilities> => {
  const named = ladder.map((model): Named => ({ model, ...modelLine(model.id, model.vendor) }))
  const makers = Map.groupBy(named, ({ model }) => model.vendor)
  const lines = [...Map.groupBy(named, ({ model, line }) => `${model.vendor}/${line}`).values()]
  const found = new Map<Model, Abilities>()
  for (const line of lines) {
    const measured = line.filter(({ model }) => isMeasured(model))
    for (const one of measured) found.set(one.model, ofMeasured(one, measured))
  }
  for (const line of lines) {
    const maker = makers.get(line[0]!.model.vendor)!
    for (const one of line) {
      if (!isMeasured(one.model)) found.set(one.model, ofUnmeasured(one, { line, maker }, found))
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
 * What is expected of a model without figures: a little less than of the newest measured one of its line that is not
 * newer, of which it is a copy, a faster edition or a successor; else of the best measured one of its maker that costs no
 * more, since a maker sells the worse of two for less; else what its price says.
 */
function ofUnmeasured(
  { model, version, isSmall }: Named,
  { line, maker }: { line: readonly Named[]; maker: readonly Named[] },
  known: ReadonlyMap<Model, Abilities>,
): Abilities {
  const byVersion = line
    .filter((other) => isMeasured(other.model))
    .sort((a, b) => compareVersions(a.version, b.version))
  const before = byVersion.findLast((other) => compareVersions(other.version, version) <= 0)
  const relative = before ?? byVersion[0]
  if (relative) {
    const isSame = compareVersions(relative.version, version) === 0
    const steps = new Set(
      line
        .filter(
          (other) =>
            compareVersions(other.version, relative.version) > 0 &&
            compareVersions(other.version, version) <= 0,
        )
        .map((other) => other.version.join()),
    ).size
    const deviation = isSame ? SAME_VERSION_DEVIATION : LINE_DEVIATION * Math.sqrt(Math.max(1, steps))
    const less = before ? (isSame ? 0 : SUCCESSOR_DISCOUNT) : OLDER_BY
    return inherited(known.get(relative.model)!, less, deviation, before ? 'line' : 'relative')
  }
  const cheaper = maker.filter(
    (other) =>
      isMeasured(other.model) &&
      listUsd(other.model) <= listUsd(model) &&
      other.model.reasoning === model.reasoning,
  )
  const best = cheaper
    .map((other) => known.get(other.model)!)
    .sort((a, b) => b.other.value - a.other.value)[0]
  if (best && !isSmall) return inherited(best, SUCCESSOR_DISCOUNT, LINE_DEVIATION, 'relative')
  const level = levelByPrice(model)
  return byKind(
    (kind): Ability => ({
      value: level + TYPICAL[kind].mean,
      standardError: Math.hypot(BY_PRICE.deviation, TYPICAL[kind].spread),
      basis: 'price',
    }),
  )
}

function inherited(from: Abilities, less: number, deviation: number, basis: Ability['basis']): Abilities {
  return byKind((kind) => {
    const { value, standardError } = from[kind]
    return { value: value - less, standardError: Math.hypot(standardError, deviation), basis }
  })
}

const isMeasured = ({ quality }: Model): boolean => Object.keys(quality ?? {}).length > 0

const levelByPrice = (model: Model): number =>
  BY_PRICE.level +
  BY_PRICE.perLogUsd * Math.log(Math.max(LEAST_USD, listUsd(model))) +
  (model.reasoning ? BY_PRICE.reasoning : 0)

const byKind = (of: (kind: TaskKind) => Ability): Abilities =>
  Object.fromEntries(TASK_KINDS.map((kind) => [kind, of(kind)])) as Record<TaskKind, Ability>

/** How ability and difficulty make the expected quality: a logistic over both, in log-odds. */
export interface QualityCurve {
  perAbility: number
  perDifficulty: Record<TaskKind, number>
  /** How much easier prompts of each kind are than the published tasks. */
  ease: Record<TaskKind, number>
}

/**
 * Of questions with one right answer a fit over the training data, each named model with its published ability (`npm run
 * router:eval` prints it, and measures it with every family left out). Nothing grades open tasks, so theirs are set by
 * hand: proofs, expertise and the hardest of the others are about as hard as the published ones, and small talk is answered
 * well by nearly every model.
 */
export const SHIPPED_CURVE: QualityCurve = {
  perAbility: 1.2,
  perDifficulty: {
    code: 0.9,
    worded_options: 0.6,
    numeric_options: 0.6,
    word_problems: 0.6,
    formulas: 0.6,
    proofs: 0.6,
    chat: 1,
    extraction: 0.3,
    expertise: 0.6,
    agentic: 0.6,
    other: 0.9,
  },
  ease: {
    code: 3.2,
    worded_options: 3,
    numeric_options: 2,
    word_problems: 5.1,
    formulas: 2.9,
    proofs: 0,
    chat: 4,
    extraction: 3.5,
    expertise: 0,
    agentic: 1.5,
    other: 2.8,
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
  curve.ease[kind] - curve.perDifficulty[kind] * difficultyOf(score)

/** The expected share of such prompts that a model answers well. */
export const expectedQuality = (ability: number, ease: number, { perAbility } = SHIPPED_CURVE): number =>
  1 / (1 + Math.exp(-(perAbility * ability + ease)))
