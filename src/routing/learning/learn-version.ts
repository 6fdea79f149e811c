import type { LearnedHead } from '../../core/auto/difficulty/learned-head.ts'
import { FEATURES } from '../../core/auto/difficulty/prompt-features.ts'
import { abilitiesOf } from '../../core/auto/model-quality.ts'
import { type QualityFigure, TASK_KINDS, type TaskKind } from '../../core/auto/quality-figure.ts'
import type { Model } from '../../core/catalog/catalog.ts'
import type { CatalogDocument } from '../../core/catalog/catalog-document.ts'
import { fitHead, headSum, mean, type PairLabel } from './bayesian-head.ts'
import { type GateResult, headGate } from './head-gate.ts'
import { type LearnedFigure, learnedQuality } from './learned-quality.ts'
import type { KnownOutcome } from './outcome-store.ts'
import { decodeVector, STATIC_DIMENSIONS } from './outcome-vector.ts'
import { DIMENSIONS, wordMeanings } from './word-vectors.ts'

/** What a version was learned from and how it differs from the catalog; stored beside it, for operators. */
export interface LearningReport {
  feedback: number
  pairs: number
  accounts: number
  /** Of the ranking by difficulty. */
  gate: GateResult
  quality: Array<{
    model: string
    kind: TaskKind
    outcomes: number
    /** Abilities in log-odds. */
    before: number
    after: number
    value: number
    standardError: number
  }>
}

export interface LearnedVersion {
  /** A catalog document: fields `quality`, and `auto_head` if it passed the gate. */
  content: CatalogDocument
  report: LearningReport
}

/**
 * Learns from outcomes: quality by model and kind from all of them, and the ranking by difficulty from pairs alone. Null
 * without any outcome of a known model. Pure; 1,500 pairs take a few seconds.
 * @param models those of the catalog without a learned version
 * @param date `YYYY-MM-DD`
 */
export function learnVersion(
  outcomes: readonly KnownOutcome[],
  models: readonly Model[],
  date: string,
): LearnedVersion | null {
  const abilities = abilitiesOf(models)
  const figures = learnedQuality(outcomes, abilities, date)
  if (figures.length === 0) return null
  const strength = strengthOf(models, figures)
  const labels = outcomes.flatMap((outcome) => pairLabel(outcome, strength) ?? [])
  const gate = headGate(labels)
  const changes = [...Map.groupBy(figures, ({ model }) => model)].map(([model, found]) => ({
    id: model.id,
    quality: { ...documentQuality(model.quality), ...documentQuality(byKind(found)) },
  }))
  return {
    content: {
      source: `own traffic, ${date}`,
      changes: { models: changes },
      ...(gate.passes && { auto_head: documentHead(labels, gate.share) }),
    },
    report: {
      feedback: outcomes.filter(({ pair }) => pair === null).length,
      pairs: outcomes.filter(({ pair }) => pair !== null).length,
      accounts: new Set(outcomes.map(({ accountId }) => accountId)).size,
      gate,
      quality: figures.map(({ model, kind, outcomes: count, before, after, figure }) => ({
        ...{ model: model.id, kind, outcomes: count, before, after },
        ...{ value: figure.value, standardError: figure.standardError },
      })),
    },
  }
}

const byKind = (figures: readonly LearnedFigure[]) =>
  Object.fromEntries(figures.map(({ kind, figure }) => [kind, figure])) as Model['quality']

const documentQuality = (quality: Model['quality'] = {}) =>
  Object.fromEntries(
    Object.entries(quality).map(([kind, { standardError, ...figure }]: [string, QualityFigure]) => [
      kind,
      { ...figure, standard_error: standardError },
    ]),
  )

/** Which of two models is the stronger one: the mean ability over all kinds, with what was learned. */
function strengthOf(
  models: readonly Model[],
  figures: readonly LearnedFigure[],
): ReadonlyMap<string, number> {
  const learned = new Map(figures.map(({ model, kind, after }) => [`${model.id} ${kind}`, after]))
  const abilities = abilitiesOf(models)
  const ability = (model: Model, kind: TaskKind) =>
    learned.get(`${model.id} ${kind}`) ?? abilities.get(model)![kind].value
  return new Map(models.map((model) => [model.id, mean(TASK_KINDS.map((kind) => ability(model, kind)))]))
}

/** Null for feedback, for models that the catalog no longer has, and for vectors of other versions of the gateway. */
function pairLabel(
  { modelId, outcome, pair }: KnownOutcome,
  strength: ReadonlyMap<string, number>,
): PairLabel | null {
  if (pair === null) return null
  const vector = decodeVector(pair.vector)
  const [own, other] = [strength.get(modelId), strength.get(pair.otherModelId)]
  if (vector === null || own === undefined || other === undefined) return null
  const [weak, strong] = own < other ? [outcome, pair.otherOutcome] : [pair.otherOutcome, outcome]
  return { shipped: vector.shipped, inputs: [vector.features, vector.meaning], weak, strong }
}

/**
 * The head as a catalog document states it: its sums have the mean and deviation of the shipped ones over the labels, and
 * are mixed with them by their share.
 */
function documentHead(labels: readonly PairLabel[], share: number): LearnedHead {
  const head = fitHead(labels)
  const shipped = labels.map((label) => label.shipped)
  const sums = labels.map((label) => headSum(head, label))
  const scale = (share * deviation(shipped)) / Math.max(1e-9, deviation(sums))
  const [features, meaning] = head.weights
  const { unit, products } = wordMeanings(
    Float64Array.from({ length: DIMENSIONS }, (_, at) => (at < STATIC_DIMENSIONS ? scale * meaning[at]! : 0)),
  )
  return {
    shipped: Math.max(LEAST_SHIPPED, 1 - share + scale * head.shipped),
    shift: share * mean(shipped) - scale * mean(sums),
    features: Object.fromEntries(FEATURES.map((name, at) => [name, scale * features[at]!])),
    words: { unit, products },
  }
}

/** The shipped sum always counts a little, so that the head stays one of the shipped form. */
const LEAST_SHIPPED = 0.01

function deviation(values: readonly number[]): number {
  const level = mean(values)
  return Math.sqrt(mean(values.map((value) => (value - level) ** 2)))
}
