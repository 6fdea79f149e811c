import { withoutPassages } from '../../src/core/auto/difficulty/prompt-features.ts'
import type { QualityCurve } from '../../src/core/auto/model-quality.ts'
import {
  equalParts,
  evenlyDrawn,
  heldOutScores,
  type Protocol,
  type ScoredRow,
  splitsOf,
} from './held-out-scores.ts'
import {
  apgr,
  callPerformanceThreshold,
  type Interval,
  type ScoredGain,
  withInterval,
} from './router-measures.ts'
import type { Example } from './router-rows.ts'
import { type TierResult, tierCurves } from './tier-curves.ts'
import { withoutBrokenSubjects } from './train-model.ts'
import { curveOfAll, type ValueResult, valueCurves } from './value-curves.ts'
import type { WordVectors } from './word-vectors.ts'

/** What is reached on one data set when it is scored by weights that were trained without it. */
export interface DatasetResult {
  dataset: string
  rows: number
  /** Of this router. */
  apgr: Interval
  /** Share of strong calls for half and for four fifths of the gap. */
  cpt50: Interval
  cpt80: Interval
  /** APGR of the length of the whole prompt. */
  promptLength: number
}

export interface Evaluation {
  ranking: Record<Protocol, DatasetResult[]>
  /** Choosing among named models, families left out. */
  value: ValueResult[]
  /** Choosing among four tiers on a mix of all families, families left out; null: no models are named. */
  tiers: TierResult | null
  /** Fitted over all rows; see SHIPPED_CURVE. */
  curve: QualityCurve
}

/** Fewer rows in a part of a data set are not significant. */
const LEAST_ROWS = 100

/** Trains without each part of the data and scores that part: once for every way to hold data back. */
export function evaluate(examples: readonly Example[], vectors: WordVectors, resamples?: number): Evaluation {
  const splits = splitsOf(examples.map(({ row }) => row))
  const scored = (protocol: Protocol) => heldOutScores(examples, vectors, splits[protocol])
  const result = (protocol: Protocol) => evaluateProtocol(scored(protocol), resamples)
  const familiesOut = scored('families left out')
  const graded = withoutBrokenSubjects(familiesOut)
  return {
    ranking: {
      'families left out': evaluateProtocol(familiesOut, resamples),
      'fields left out': result('fields left out'),
      'subjects left out': result('subjects left out'),
      'questions left out': result('questions left out'),
    },
    value: valueCurves(graded),
    tiers: tierCurves(graded, { resamples }),
    curve: curveOfAll(graded),
  }
}

function evaluateProtocol(scored: readonly ScoredRow[], resamples?: number): DatasetResult[] {
  const parts = Map.groupBy(scored, ({ row }) => row.dataset)
  for (const [dataset, rows] of [...parts]) {
    const graded = withoutBrokenSubjects(rows)
    if (graded.length < rows.length) parts.set(`${dataset}, badly graded subjects left out`, graded)
  }
  const mixed = equalParts(scored)
  if (mixed.length > 0) parts.set('equal parts of every family', mixed)
  if (mixed.length > 0) parts.set('the same and prompts about a passage', withPassages(scored))
  return [...parts].flatMap(([name, rows]) =>
    rows.length < LEAST_ROWS ? [] : [datasetResult(name, rows, resamples)],
  )
}

/** Equal parts of every family, and as a family of their own the prompts that a passage is cut from; none without such. */
function withPassages(scored: readonly ScoredRow[]): ScoredRow[] {
  const [about, others] = [true, false].map((isAbout) =>
    scored.filter(({ row }) => (withoutPassages(row.prompt) !== row.prompt) === isAbout),
  ) as [ScoredRow[], ScoredRow[]]
  const families = Map.groupBy(others, ({ row }) => row.family).size
  const mixed = equalParts(others)
  return about.length === 0 ? [] : [...mixed, ...evenlyDrawn(about, mixed.length / families)]
}

function datasetResult(dataset: string, rows: readonly ScoredRow[], resamples?: number): DatasetResult {
  const by = (scoreOf: (row: ScoredRow) => number): ScoredGain[] =>
    rows.map((scored) => ({ score: scoreOf(scored), gain: scored.row.strong - scored.row.weak }))
  const router = by(({ score }) => score)
  const promptLength = by(({ row }) => row.prompt.length)
  const cpt = (share: number) => (scored: readonly ScoredGain[]) => callPerformanceThreshold(scored, share)
  return {
    dataset,
    rows: rows.length,
    apgr: withInterval(router, apgr, resamples),
    cpt50: withInterval(router, cpt(0.5), resamples),
    cpt80: withInterval(router, cpt(0.8), resamples),
    promptLength: apgr(promptLength),
  }
}
