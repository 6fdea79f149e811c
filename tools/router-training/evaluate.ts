import builtin from '../../src/catalog/data/builtin.json' with { type: 'json' }
import { DEFAULT_BOUNDS, tierOf } from '../../src/core/auto/auto-routing.ts'
import { autoTiers } from '../../src/core/auto/auto-tiers.ts'
import { withoutPassages } from '../../src/core/auto/difficulty/prompt-features.ts'
import { TIERS, type Tier } from '../../src/core/auto/tiers.ts'
import type { TokenRates } from '../../src/core/catalog/catalog.ts'
import { buildCatalogSnapshot } from '../../src/core/catalog/catalog-snapshot.ts'
import {
  equalParts,
  evenlyDrawn,
  heldOutScores,
  type Protocol,
  type ScoredRow,
  type Split,
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
import { withoutBrokenSubjects } from './train-model.ts'

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
  /** At the default bounds. */
  byTier: SpendByTier
}

export type Evaluation = Record<Protocol, DatasetResult[]>

/** Fewer rows in a part of a data set are not significant. */
const LEAST_ROWS = 100

/** Trains without each part of the data and scores that part: once for every way to hold data back. */
export function evaluate(examples: readonly Example[], resamples?: number): Evaluation {
  const splits = splitsOf(examples.map(({ row }) => row))
  const result = (protocol: Protocol) => evaluateProtocol(examples, splits[protocol], resamples)
  return {
    'families left out': result('families left out'),
    'fields left out': result('fields left out'),
    'subjects left out': result('subjects left out'),
    'questions left out': result('questions left out'),
  }
}

function evaluateProtocol(
  examples: readonly Example[],
  splits: readonly Split[],
  resamples?: number,
): DatasetResult[] {
  const scored = heldOutScores(examples, splits)
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
    byTier: spendByTier(rows.map(({ row, score }) => ({ prompt: row.prompt, score }))),
  }
}

/** Where prompts go at the default bounds of `auto`, and what that costs. */
interface SpendByTier {
  /** Share of the calls, of each tier. */
  shares: Record<Tier, number>
  /** Mean list price of a call in USD. */
  usdPerCall: number
  /** The frontier tier's share of the spend. */
  frontierSpend: number
}

/** The assumed length of a completion, and of a token in characters. */
const COMPLETION_TOKENS = 500
const TOKEN_CHARS = 4
const PICO_PER_USD = 1e12

const mapTiers = <T>(of: (tier: Tier) => T): Record<Tier, T> => ({
  light: of('light'),
  standard: of('standard'),
  strong: of('strong'),
  frontier: of('frontier'),
})

const LEADING_RATES = leadingRates()

/** Every tier at the list price of the model that leads it in the built-in catalog. For reports only: no money is counted by it. */
function spendByTier(scored: ReadonlyArray<{ prompt: string; score: number }>): SpendByTier {
  const calls: Record<Tier, number> = { light: 0, standard: 0, strong: 0, frontier: 0 }
  const spend: Record<Tier, number> = { light: 0, standard: 0, strong: 0, frontier: 0 }
  for (const { prompt, score } of scored) {
    const tier = tierOf([score], DEFAULT_BOUNDS.auto)
    const { prompt: perPromptToken, completion } = LEADING_RATES[tier]
    calls[tier]++
    spend[tier] +=
      (prompt.length / TOKEN_CHARS) * Number(perPromptToken) + COMPLETION_TOKENS * Number(completion)
  }
  const total = TIERS.reduce((sum, tier) => sum + spend[tier], 0)
  return {
    shares: mapTiers((tier) => calls[tier] / scored.length),
    usdPerCall: total / scored.length / PICO_PER_USD,
    frontierSpend: spend.frontier / total,
  }
}

function leadingRates(): Record<Tier, TokenRates> {
  const built = buildCatalogSnapshot([{ name: 'builtin', content: builtin, updatedAt: 0 }], {
    // Of no effect on list prices.
    discountPercent: 5,
    openWeightsDiscountPercent: 20,
    generatedAt: 0,
    isUsable: () => true,
  })
  if (built.kind !== 'snapshot') throw new Error(built.problems.join('\n'))
  const { tiers } = autoTiers(built.snapshot.autoLadder)
  return mapTiers((tier) => tiers[tier][0]!.listPrice)
}
