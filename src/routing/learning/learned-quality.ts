import { type Abilities, easeOf, logOdds, SHIPPED_CURVE } from '../../core/auto/model-quality.ts'
import type { QualityFigure, TaskKind } from '../../core/auto/quality-figure.ts'
import type { Model } from '../../core/catalog/catalog.ts'
import type { KnownOutcome } from './outcome-store.ts'

/** A learned figure, beside what was expected before. Abilities in log-odds. */
export interface LearnedFigure {
  model: Model
  kind: TaskKind
  /** Outcomes that it is learned from, each counted with its weight. */
  outcomes: number
  before: number
  after: number
  figure: QualityFigure
}

/** Feedback of one account on a model at a kind counts at most as so many calls, however much it sends. */
const FEEDBACK_PER_ACCOUNT = 50
/** Users and judges may be milder or stricter than published tasks: an offset per source and kind, with this deviation. */
const OFFSET_DEVIATION = 1.5
const SWEEPS = 40
const LARGEST_STEP = 1
const LARGEST_ERROR = 0.5

interface Observation {
  cell: Cell
  offset: Offset
  ease: number
  outcome: number
  weight: number
}
interface Cell {
  model: Model
  kind: TaskKind
  prior: number
  precision: number
  ability: number
  information: number
  observations: Observation[]
}
interface Offset {
  value: number
  observations: Observation[]
}

/**
 * The quality of models at kinds of task from outcomes: the most likely abilities, with what the catalog expects as
 * prior, and an offset for each source and kind that all models share. So what outcomes say of the models' differences
 * counts, and the general mildness of users does not.
 */
export function learnedQuality(
  outcomes: readonly KnownOutcome[],
  models: ReadonlyMap<Model, Abilities>,
  date: string,
): LearnedFigure[] {
  const { cells, offsets } = observationsOf(outcomes, models)
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const offset of offsets) {
      const { slope, information } = slopeOf(offset.observations)
      const precision = 1 / OFFSET_DEVIATION ** 2
      offset.value += step((slope - precision * offset.value) / (information + precision))
    }
    for (const cell of cells) {
      const { slope, information } = slopeOf(cell.observations)
      cell.information = information
      cell.ability += step(
        (slope - cell.precision * (cell.ability - cell.prior)) / (information + cell.precision),
      )
    }
  }
  return cells.flatMap((cell) => figureOf(cell, date) ?? [])
}

const step = (size: number): number => Math.max(-LARGEST_STEP, Math.min(LARGEST_STEP, size))

function observationsOf(outcomes: readonly KnownOutcome[], models: ReadonlyMap<Model, Abilities>) {
  const byId = new Map([...models.keys()].map((model) => [model.id, model]))
  const cells = new Map<string, Cell>()
  const offsets = new Map<string, Offset>()
  const observe = (modelId: string, outcome: number, weight: number, of: KnownOutcome) => {
    const model = byId.get(modelId)
    if (!model) return
    const { kind, score } = of
    const { value: prior, standardError } = models.get(model)![kind]
    const cell = entry(cells, `${modelId} ${kind}`, () => ({
      ...{ model, kind, prior, ability: prior, precision: 1 / standardError ** 2, information: 0 },
      observations: [],
    }))
    const offset = entry(offsets, `${of.pair ? 'pair' : 'feedback'} ${kind}`, () => ({
      value: 0,
      observations: [],
    }))
    const observation = { cell, offset, ease: easeOf(kind, score), outcome, weight }
    cell.observations.push(observation)
    offset.observations.push(observation)
  }
  const feedbackKey = ({ accountId, modelId, kind }: KnownOutcome) => `${accountId} ${modelId} ${kind}`
  const feedback = Map.groupBy(
    outcomes.filter(({ pair }) => pair === null),
    feedbackKey,
  )
  for (const outcome of outcomes) {
    if (outcome.pair) {
      observe(outcome.modelId, outcome.outcome, 1, outcome)
      observe(outcome.pair.otherModelId, outcome.pair.otherOutcome, 1, outcome)
    } else {
      const sent = feedback.get(feedbackKey(outcome))!.length
      observe(outcome.modelId, outcome.outcome, Math.min(1, FEEDBACK_PER_ACCOUNT / sent), outcome)
    }
  }
  return { cells: [...cells.values()], offsets: [...offsets.values()] }
}

function entry<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const value = map.get(key) ?? make()
  map.set(key, value)
  return value
}

/** First and second derivative of the log likelihood in the log-odds that observations share. */
function slopeOf(observations: readonly Observation[]) {
  let [slope, information] = [0, 0]
  for (const { cell, offset, ease, outcome, weight } of observations) {
    const expected = 1 / (1 + Math.exp(-(SHIPPED_CURVE.perAbility * cell.ability + ease + offset.value)))
    slope += weight * (outcome - expected)
    information += weight * expected * (1 - expected)
  }
  return { slope, information }
}

/**
 * The figure that, with the catalog's own priors, gives the learned ability: the published one and the outcomes'
 * likelihood, without the prior that the catalog adds to every figure. Null where outcomes say next to nothing.
 */
function figureOf(cell: Cell, date: string): LearnedFigure | null {
  const { model, kind, prior, ability, precision, information, observations } = cell
  const likelihood = ability + (precision * (ability - prior)) / Math.max(1e-9, information)
  const published = model.quality?.[kind]
  const own = published && logOdds(published)
  const total = information + (own ? 1 / own.variance : 0)
  const odds = (information * likelihood + (own ? own.mean / own.variance : 0)) / total
  const value = 1 / (1 + Math.exp(-odds))
  const standardError = Math.sqrt(1 / total) * value * (1 - value)
  const outcomes = observations.reduce((sum, { weight }) => sum + weight, 0)
  if (!(standardError <= LARGEST_ERROR)) return null
  const source = `own traffic, ${Math.round(outcomes)} outcomes${published ? `; ${published.source}` : ''}`
  return {
    ...{ model, kind, outcomes, before: prior, after: ability },
    figure: {
      value: rounded(value),
      standardError: rounded(standardError),
      source: source.slice(0, 200),
      date,
    },
  }
}

const rounded = (value: number): number => Math.round(value * 1e4) / 1e4
