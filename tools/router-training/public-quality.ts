import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import outputTokens from '../../src/catalog/data/output-tokens.json' with { type: 'json' }
import type { TaskKind } from '../../src/core/auto/quality-figure.ts'
import { deviation, mean } from './linear-fit.ts'

/**
 * The quality of models by kind of task, from the published results in public-results/, at the effort of a call that asks
 * for none. docs/auto-routing.md explains the steps.
 */

const FOLDER = join(import.meta.dirname, 'public-results')
const NEWEST = '2026-06-25'
/** Newest first. */
const RELEASES = [NEWEST, '2026-01-08', '2025-05-30', '2024-11-25']
/** A model that the built-in catalog lacks: links releases, and has rows in the training data. */
const UNLISTED = '-'

/** The tasks of LiveBench that count for a kind, with the number of their questions. */
const LIVEBENCH = {
  code: { code_completion: 46, code_generation: 71 },
  formulas: { AMPS_Hard: 100, integrals_with_game: 100, math_comp: 102, olympiad: 77 },
  chat: { paraphrase: 50, simplify: 50, story_generation: 50, summarize: 50 },
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
} as const

/** Standard error of each link of releases, in log-odds. */
const LINK_DEVIATION = 0.1
/** Results of one model at two tests of a kind differ by this much beyond their samples, in log-odds, each from the mean. */
const TEST_DEVIATION = 0.3

/** A model's result at one test: log-odds at the effort of a plain call, in the test's own scale until it is scaled. */
interface Result {
  model: string
  isListed: boolean
  logOdds: number
  variance: number
  source: string
  date: string
}

type Row = Record<string, string>

function readTable(name: string): Row[] {
  const [header, ...rows] = readFileSync(join(FOLDER, `${name}.csv`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(','))
  return rows.map((row) => Object.fromEntries(header!.map((name, index) => [name, row[index]!])))
}

const logOddsOf = (share: number): number => {
  const clipped = Math.min(0.98, Math.max(0.02, share))
  return Math.log(clipped / (1 - clipped))
}

const INDEX = readTable('artificial-analysis')
const EFFORTS = ['none', 'low', 'medium', 'high', 'xhigh', 'max'] as const
type Effort = (typeof EFFORTS)[number]

/** The effort of a call that asks for none, by model. */
const PLAIN_EFFORT = new Map(
  outputTokens.changes.models.map(({ id, output_tokens: { default_effort: effort } }) => [
    id,
    (effort === 'minimal' ? 'low' : effort) as Effort,
  ]),
)

/**
 * What an effort adds to the log-odds of a result, from the lowest up: from one to the next the mean difference of the models
 * that the index has at both.
 */
const EFFORT_LOG_ODDS = effortLogOdds()

function effortLogOdds(): Record<Effort, number> {
  const results = new Map(
    INDEX.map(({ model, effort, intelligence }) => [
      `${model} ${effort}`,
      logOddsOf(Number(intelligence) / 100),
    ]),
  )
  const models = new Set(INDEX.map(({ model }) => model!))
  const added: Record<string, number> = { none: 0 }
  // Models that the index has without reasoning have no `low`, so the second step is from none to medium, less a step up to it.
  const between = (lower: Effort, upper: Effort) =>
    mean(
      [...models].flatMap((model) => {
        const [from, to] = [results.get(`${model} ${lower}`), results.get(`${model} ${upper}`)]
        return from !== undefined && to !== undefined ? [to - from] : []
      }),
    )
  added.high = between('none', 'high')
  added.medium = added.high - between('medium', 'high')
  added.low = added.medium - between('low', 'medium')
  added.xhigh = added.high + between('high', 'xhigh')
  added.max = added.xhigh + between('xhigh', 'max')
  return added as Record<Effort, number>
}

/** What is taken from a result at a setting for it to be that of a plain call. A budget of thinking counts as high effort. */
function aboveAPlainCall(model: string, setting: string): number {
  const usual = PLAIN_EFFORT.get(model) ?? 'medium'
  return EFFORT_LOG_ODDS[effortOf(setting) ?? usual] - EFFORT_LOG_ODDS[usual]
}

/** Null: the test names none, so it made plain calls. */
function effortOf(setting: string): Effort | null {
  const named = /none|low|medium|xhigh|max/.exec(setting.replace(/codex-max/, ''))?.[0]
  return (named as Effort | undefined) ?? (/high|thinking/.test(setting) ? 'high' : null)
}

/** The results of a table with a row for each model and effort; of several efforts the nearest to a plain call's counts. */
function tableResults(table: readonly Row[], column: string, source: string): Result[] {
  const rows = table.filter((row) => row[column] !== '')
  const byModel = Map.groupBy(rows, ({ model }) => model!)
  return [...byModel].map(([model, all]) => {
    const above = ({ effort }: Row) => aboveAPlainCall(model, effort!)
    const nearest = all.toSorted((a, b) => Math.abs(above(a)) - Math.abs(above(b)))[0]!
    const { effort, read, [column]: score } = nearest
    const logOdds = logOddsOf(Number(score) / 100) - above(nearest)
    const named = `${source} ${read}${effort === 'default' ? '' : `, ${effort}`}`
    return { model, isListed: true, logOdds, variance: TEST_DEVIATION ** 2, source: named, date: read! }
  })
}

interface Release {
  release: string
  model: string
  isListed: boolean
  variant: string
  logOdds: number
  variance: number
}

function observe(tasks: Record<string, number>): Release[] {
  return RELEASES.flatMap((release) =>
    readTable(`livebench-${release}`).flatMap((row) => {
      const known = Object.keys(tasks).filter((task) => row[task] !== undefined)
      if (known.length === 0) return []
      const share = mean(known.map((task) => Number(row[task]) / 100))
      const questions = known.reduce((sum, task) => sum + tasks[task]!, 0)
      const { model, variant } = row as { model: string; variant: string }
      return {
        release,
        model: model === UNLISTED ? variant : model,
        isListed: model !== UNLISTED,
        variant,
        logOdds: logOddsOf(share),
        variance: 1 / (questions * Math.max(share * (1 - share), 0.02)),
      }
    }),
  )
}

const ROUNDS = 1_000

/** The ease of each release in log-odds: zero for the newest. */
function easeOfReleases(observations: readonly Release[]): Record<string, number> {
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

/** A model's newest result of LiveBench at a kind, on the scale of the newest release. */
function liveBench(kind: keyof typeof LIVEBENCH): Result[] {
  const observations = observe(LIVEBENCH[kind])
  const ease = easeOfReleases(observations)
  const newest = new Map(observations.toReversed().map((one) => [one.model, one]))
  return [...newest.values()].map(({ model, isListed, variant, release, logOdds, variance }) => ({
    model,
    isListed,
    logOdds: logOdds - ease[release]! - aboveAPlainCall(model, variant),
    variance: variance + LINK_DEVIATION ** 2 * RELEASES.indexOf(release) + TEST_DEVIATION ** 2,
    source: `LiveBench ${release}${variant === 'default' ? '' : `, ${variant}`}`,
    date: release,
  }))
}

/** Results on the scale of others: with the same mean and deviation over the models that both have. */
function scaled(results: readonly Result[], scale: readonly Result[]): Result[] {
  const known = new Map(scale.map((one) => [one.model, one.logOdds]))
  const common = results.filter(({ model }) => known.has(model))
  const own = common.map(({ logOdds }) => logOdds)
  const others = common.map(({ model }) => known.get(model)!)
  const slope = deviation(others) / deviation(own)
  return results.map((one) => ({ ...one, logOdds: mean(others) + slope * (one.logOdds - mean(own)) }))
}

/**
 * LiveBench's tasks of code are nearly saturated: models differ by 2.3 times as much, in log-odds, at the agentic ones. Code
 * is between the two.
 */
const CODE_STRETCH = 1.6

function stretched(results: readonly Result[]): Result[] {
  const middle = mean(results.map(({ logOdds }) => logOdds))
  return results.map((one) => ({ ...one, logOdds: middle + CODE_STRETCH * (one.logOdds - middle) }))
}

const intelligence = tableResults(INDEX, 'intelligence', 'Artificial Analysis v4.3')
const coding = tableResults(INDEX, 'coding', 'Artificial Analysis coding')
const frontierCode = tableResults(readTable('frontiercode-1.1'), 'score', 'FrontierCode 1.1')

/** The tests of each kind; the first has the scale. */
const TESTS: Partial<Record<TaskKind, Result[][]>> = {
  code: [stretched(liveBench('code')), liveBench('agentic'), coding, frontierCode, intelligence],
  formulas: [liveBench('formulas'), intelligence],
  chat: [liveBench('chat'), intelligence],
  agentic: [liveBench('agentic'), coding, frontierCode, intelligence],
  other: [liveBench('other'), intelligence],
}

const rounded = (value: number): number => Number(value.toFixed(3))

export interface PublicFigure {
  model: string
  kind: TaskKind
  /** Whether the built-in catalog has the model. */
  isListed: boolean
  value: number
  standard_error: number
  source: string
  /** Of the newest source. */
  date: string
}

/** Every figure, by kind and model: the mean of its tests, each weighted by its error. */
export function publicFigures(): PublicFigure[] {
  return Object.entries(TESTS).flatMap(([kind, [scale, ...others]]) => {
    const results = [scale!, ...others.map((test) => scaled(test, scale!))].flat()
    return [...Map.groupBy(results, ({ model }) => model)].map(([model, all]) => {
      const weight = all.reduce((sum, { variance }) => sum + 1 / variance, 0)
      const logOdds = all.reduce((sum, one) => sum + one.logOdds / one.variance, 0) / weight
      const value = 1 / (1 + Math.exp(-logOdds))
      return {
        model,
        kind: kind as TaskKind,
        isListed: all.every(({ isListed }) => isListed),
        value: rounded(value),
        standard_error: rounded(value * (1 - value) * Math.sqrt(1 / weight)),
        source: [...new Set(all.map(({ source }) => source))].join('; '),
        date: all
          .map(({ date }) => date)
          .sort()
          .at(-1)!,
      }
    })
  })
}
