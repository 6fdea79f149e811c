import { atLeast, easeOf, expectedQuality, type QualityCurve } from '../../src/core/auto/model-quality.ts'
import { ANSWER_TOKENS } from '../../src/core/auto/output-tokens.ts'
import type { TaskKind } from '../../src/core/auto/quality-figure.ts'
import { taskKind } from '../../src/core/auto/task-kind.ts'
import { fitCurve, type KnownResult } from './fit-curve.ts'
import type { ScoredRow } from './held-out-scores.ts'
import { mean } from './linear-fit.ts'
import { type NamedModel, namedModels } from './named-models.ts'

/** What a policy of choosing among the named models of one part of the data costs and achieves. */
export interface ValueResult {
  /** The rows and the models that all of them have results of, cheapest first. */
  part: string
  rows: number
  models: Array<{ name: string; quality: number; usdPer1000: number }>
  policies: PolicyResult[]
}

export interface PolicyResult {
  policy: string
  /** Quality at these shares of the cost of always taking the best model; mixtures of two settings count. */
  qualityAt: number[]
  /** The least share of that cost for the best model's quality less two points; null: not reached. */
  costOfTwoPointsLess: number | null
}

export const SHARES = [0.25, 0.5, 0.75]
export const POINTS_LESS = 0.02

/** One prompt with everything that policies may look at, and each model's result and cost. */
export interface Prompt {
  kind: TaskKind
  score: number
  chars: number
  results: number[]
  usd: number[]
}

export const CHARS_PER_TOKEN = 4

/**
 * Cost against quality of choosing among named models, by policy. Scores are of weights trained without the family; so is
 * the curve that makes expected quality of published abilities.
 */
export function valueCurves(scored: readonly ScoredRow[]): ValueResult[] {
  const named = namedModels()
  return partsOf(scored).flatMap(({ part, rows, models }) => {
    const known = models.flatMap((name) => named.get(name) ?? [])
    if (known.length < 2) return []
    const families = new Set(rows.map(({ row }) => row.family))
    const curve = fitCurve(
      knownResults(
        scored.filter(({ row }) => !families.has(row.family)),
        named,
      ),
    )
    const cheapestFirst = known.toSorted((a, b) => a.completionUsd - b.completionUsd)
    return [curvesOf(part, rows, cheapestFirst, curve)]
  })
}

/** The curve that the shipped one rounds: fitted over all rows. */
export const curveOfAll = (scored: readonly ScoredRow[]): QualityCurve =>
  fitCurve(knownResults(scored, namedModels()))

export function knownResults(
  scored: readonly ScoredRow[],
  named: ReadonlyMap<string, NamedModel>,
): KnownResult[] {
  return scored.flatMap(({ row, features, score }) => {
    const kind = taskKind(features)
    return [...row.results].flatMap(([name, result]) => {
      const model = named.get(name)
      return model
        ? [{ dataset: row.dataset, kind, ability: atLeast(model.abilities[kind]), score, result }]
        : []
    })
  })
}

/** Every data set, and the data sets of several that name the same models, each with rows that have all results. */
function partsOf(scored: readonly ScoredRow[]): Array<{ part: string; rows: ScoredRow[]; models: string[] }> {
  const sets = [...Map.groupBy(scored, ({ row }) => row.dataset)].map(([dataset, rows]) => ({
    datasets: [dataset],
    rows,
    models: [...new Set(rows.flatMap(({ row }) => [...row.results.keys()]))],
  }))
  const joined = [...sets]
  for (const one of sets) {
    for (const other of joined.slice()) {
      if (other.datasets.includes(one.datasets[0]!)) continue
      const models = one.models.filter((name) => other.models.includes(name))
      const datasets = [...other.datasets, ...one.datasets].sort()
      const isNew = joined.every((known) => known.datasets.join() !== datasets.join())
      if (models.length >= 2 && isNew) joined.push({ datasets, rows: [...other.rows, ...one.rows], models })
    }
  }
  return joined.map(({ datasets, rows, models }) => ({
    part: datasets.join(' + '),
    rows: rows.filter(({ row }) => models.every((name) => row.results.has(name))),
    models,
  }))
}

function curvesOf(
  part: string,
  rows: readonly ScoredRow[],
  models: readonly NamedModel[],
  curve: QualityCurve,
): ValueResult {
  const prompts = rows.map(({ row, features, score }): Prompt => {
    const kind = taskKind(features)
    return {
      kind,
      score,
      chars: row.prompt.length,
      results: models.map(({ name }) => row.results.get(name)!),
      usd: models.map(
        ({ promptUsd, completionUsd }) =>
          (promptUsd * row.prompt.length) / CHARS_PER_TOKEN + completionUsd * ANSWER_TOKENS[kind],
      ),
    }
  })
  const byPublished = (prompt: Prompt) => {
    const ease = easeOf(prompt.kind, prompt.score, curve)
    return models.map(({ abilities }) => expectedQuality(atLeast(abilities[prompt.kind]), ease, curve))
  }
  const policies: Array<[string, PolicyCurve]> = [
    ['single models, mixed at random', always(prompts)],
    ['prompt length', byLength(prompts)],
    ['value, published quality', byValue(prompts, byPublished)],
    ['oracle', byValue(prompts, ({ results }) => results)],
  ]
  return {
    part,
    rows: rows.length,
    models: models.map(({ name }, index) => ({
      name,
      quality: mean(prompts.map(({ results }) => results[index]!)),
      usdPer1000: 1_000 * mean(prompts.map(({ usd }) => usd[index]!)),
    })),
    policies: policies.map(([policy, one]) => ({
      policy,
      qualityAt: SHARES.map((share) => qualityAt(one, share)),
      costOfTwoPointsLess: costOfTwoPointsLess(one),
    })),
  }
}

/** The settings of a policy on some prompts, and what always taking the best single model costs and achieves. */
interface PolicyCurve {
  settings: Setting[]
  best: Setting
}

interface Setting {
  usd: number
  quality: number
}

function always(prompts: readonly Prompt[]): PolicyCurve {
  const settings = [...prompts[0]!.results.keys()].map((index) => taking(prompts, () => index))
  return { settings, best: settings.reduce((a, b) => (b.quality > a.quality ? b : a)) }
}

const taking = (prompts: readonly Prompt[], choose: (prompt: Prompt) => number): Setting => {
  const chosen = prompts.map(choose)
  return {
    usd: mean(prompts.map(({ usd }, at) => usd[chosen[at]!]!)),
    quality: mean(prompts.map(({ results }, at) => results[chosen[at]!]!)),
  }
}

const LENGTH_STEPS = 20

/** The longest prompts to the best model, the others to the cheapest. */
function byLength(prompts: readonly Prompt[]): PolicyCurve {
  const { settings, best } = always(prompts)
  const bestModel = settings.indexOf(best)
  const sorted = prompts.map(({ chars }) => chars).sort((a, b) => a - b)
  const steps = Array.from({ length: LENGTH_STEPS + 1 }, (_, step) => {
    const bound = sorted[Math.floor((step * sorted.length) / LENGTH_STEPS)] ?? Number.POSITIVE_INFINITY
    return taking(prompts, ({ chars }) => (chars >= bound ? bestModel : 0))
  })
  return { settings: steps, best }
}

/** Prices of a point, in USD per 1,000 calls: a sweep that covers every choice. */
export const POINT_USD = Array.from({ length: 61 }, (_, step) => 10 ** (-3 + step / 10))

function byValue(prompts: readonly Prompt[], expect: (prompt: Prompt) => number[]): PolicyCurve {
  const expected = new Map(prompts.map((prompt) => [prompt, expect(prompt)]))
  const settings = POINT_USD.map((pointUsd) =>
    taking(prompts, (prompt) => {
      const values = expected
        .get(prompt)!
        .map((quality, index) => 100 * quality - (1_000 * prompt.usd[index]!) / pointUsd)
      return values.indexOf(Math.max(...values))
    }),
  )
  return { settings, best: always(prompts).best }
}

/** The best quality that settings and mixtures of two reach at a share of the best model's cost; 0 if none is so cheap. */
function qualityAt({ settings, best }: PolicyCurve, share: number): number {
  const most = share * best.usd
  let found = 0
  for (const a of settings) {
    if (a.usd > most) continue
    found = Math.max(found, a.quality)
    for (const b of settings) {
      if (b.usd <= most) continue
      const part = (most - a.usd) / (b.usd - a.usd)
      found = Math.max(found, a.quality + part * (b.quality - a.quality))
    }
  }
  return found
}

function costOfTwoPointsLess({ settings, best }: PolicyCurve): number | null {
  const goal = best.quality - POINTS_LESS
  let least = Number.POSITIVE_INFINITY
  for (const b of settings) {
    if (b.quality < goal) continue
    least = Math.min(least, b.usd)
    for (const a of settings) {
      if (a.quality >= goal || a.usd >= b.usd) continue
      least = Math.min(least, a.usd + ((goal - a.quality) / (b.quality - a.quality)) * (b.usd - a.usd))
    }
  }
  return Number.isFinite(least) ? least / best.usd : null
}
