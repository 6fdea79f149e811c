import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TaskKind } from '../../src/core/auto/quality-figure.ts'

/**
 * The quality of models by kind of task, from the published results in public-results/.
 *
 * Releases of one benchmark differ in difficulty. Each kind's mean score is taken as log-odds, as the sum of a model's ability
 * and the release's ease, which least squares separate, since consecutive releases share models. The values are on the scale
 * of the newest release.
 */

const FOLDER = join(import.meta.dirname, 'public-results')
const NEWEST = '2026-06-25'
/** Newest first. */
const RELEASES = [NEWEST, '2026-01-08', '2025-05-30', '2024-11-25']
/** A model that the built-in catalog lacks: links releases, and has rows in the training data. */
const UNLISTED = '-'

/** The tasks that count for a kind, with the number of their questions. */
const TASKS: Partial<Record<TaskKind, Record<string, number>>> = {
  code: { code_completion: 46, code_generation: 71 },
  formulas: { AMPS_Hard: 100, integrals_with_game: 100, math_comp: 102, olympiad: 77 },
  chat: {
    connections: 50,
    plot_unscrambling: 50,
    typos: 50,
    paraphrase: 50,
    simplify: 50,
    story_generation: 50,
    summarize: 50,
  },
  agentic: { javascript: 22, typescript: 30, python: 20 },
  other: {
    theory_of_mind: 52,
    zebra_puzzle: 50,
    spatial: 50,
    logic_with_navigation: 50,
    web_of_lies_v3: 50,
    web_of_lies_v2: 50,
    consecutive_events: 47,
    tablejoin: 52,
    tablereformat: 51,
    cta: 50,
  },
}

/** Standard error of a result of an effort above the default, which ordinary calls do not reach, and of each link of releases. */
const EFFORT_ERROR = 0.03
const LINK_LOG_ODDS = 0.1
const HIGH_EFFORT = /high|max|thinking/

interface Observation {
  model: string
  isListed: boolean
  variant: string
  release: string
  logOdds: number
  share: number
  questions: number
}

function readRelease(release: string): Array<Record<string, string>> {
  const text = readFileSync(join(FOLDER, `livebench-${release}.csv`), 'utf8')
  const [header, ...rows] = text
    .trim()
    .split('\n')
    .map((line) => line.split(','))
  return rows.map((row) => Object.fromEntries(header!.map((name, index) => [name, row[index]!])))
}

function observe(tasks: Record<string, number>): Observation[] {
  return RELEASES.flatMap((release) =>
    readRelease(release).flatMap((row) => {
      const known = Object.keys(tasks).filter((task) => row[task] !== undefined)
      if (known.length === 0) return []
      const share = known.reduce((sum, task) => sum + Number(row[task]) / 100, 0) / known.length
      const clipped = Math.min(0.98, Math.max(0.02, share))
      const { model, variant } = row as { model: string; variant: string }
      return {
        model: model === UNLISTED ? variant : model,
        isListed: model !== UNLISTED,
        variant,
        release,
        logOdds: Math.log(clipped / (1 - clipped)),
        share,
        questions: known.reduce((sum, task) => sum + tasks[task]!, 0),
      }
    }),
  )
}

const ROUNDS = 1_000

/** The ease of each release in log-odds: zero for the newest. */
function easeOfReleases(observations: readonly Observation[]): Record<string, number> {
  const ease: Record<string, number> = Object.fromEntries(RELEASES.map((release) => [release, 0]))
  const byModel = Map.groupBy(observations, ({ model }) => model)
  const byRelease = Map.groupBy(observations, ({ release }) => release)
  for (let round = 0; round < ROUNDS; round++) {
    const ability = new Map(
      [...byModel].map(([model, all]) => [model, mean(all.map((one) => one.logOdds - ease[one.release]!))]),
    )
    for (const release of RELEASES) {
      const all = byRelease.get(release)
      if (!all || release === NEWEST) continue
      ease[release] = mean(all.map((one) => one.logOdds - ability.get(one.model)!))
    }
  }
  return ease
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length
const rounded = (value: number): number => Number(value.toFixed(3))

/** The figure of a model from its newest result. */
function figure({ variant, release, logOdds, share, questions }: Observation, ease: number) {
  const value = 1 / (1 + Math.exp(-(logOdds - ease)))
  const links = RELEASES.indexOf(release)
  const ofSample = Math.sqrt(Math.max(share * (1 - share), 0.02) / questions)
  const ofLinks = value * (1 - value) * LINK_LOG_ODDS * Math.sqrt(links)
  const ofEffort = HIGH_EFFORT.test(variant) ? EFFORT_ERROR : 0
  return {
    value: rounded(value),
    standard_error: rounded(Math.hypot(ofSample, ofLinks, ofEffort)),
    source: `LiveBench ${release}${variant === 'default' ? '' : `, ${variant}`}`,
    date: release,
  }
}

export interface PublicFigure extends ReturnType<typeof figure> {
  model: string
  kind: TaskKind
  /** Whether the built-in catalog has the model. */
  isListed: boolean
}

/** Every figure, by kind and model; of several releases the newest counts. */
export function publicFigures(): PublicFigure[] {
  return Object.entries(TASKS).flatMap(([kind, tasks]) => {
    const observations = observe(tasks)
    const ease = easeOfReleases(observations)
    const newest = new Map(observations.toReversed().map((one) => [one.model, one]))
    return [...newest.values()].map((one) => ({
      ...figure(one, ease[one.release]!),
      kind: kind as TaskKind,
      model: one.model,
      isListed: one.isListed,
    }))
  })
}
