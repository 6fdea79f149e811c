import { DEFAULT_POINT_USD } from '../../src/core/auto/auto-routing.ts'
import { atLeast, easeOf, expectedQuality, type QualityCurve } from '../../src/core/auto/model-quality.ts'
import { ANSWER_TOKENS } from '../../src/core/auto/output-tokens.ts'
import { ROUTING_PROFILES, type RoutingProfile } from '../../src/core/auto/routing-profiles.ts'
import { taskKind } from '../../src/core/auto/task-kind.ts'
import { seededRandom } from '../../src/core/kernel/seeded-random.ts'
import { type CostPoint, qualityAt } from './cost-curve.ts'
import { fitCurve } from './fit-curve.ts'
import type { ScoredRow } from './held-out-scores.ts'
import { type NamedModel, namedModels } from './named-models.ts'
import type { Interval } from './router-measures.ts'
import { CHARS_PER_TOKEN, knownResults, POINT_USD, POINTS_LESS, type Prompt } from './value-curves.ts'

/** Cost against quality of a mix of all families, where every prompt goes to one of four tiers of models. */
export interface TierResult {
  /** Rows of each family; families count alike. */
  families: Record<string, number>
  /** Always this tier: quality, and the share of what always taking `strong` costs. */
  tiers: Array<{ tier: string; quality: Interval; costShare: number }>
  policies: TierPolicy[]
  /** Each profile at its default price of a point, with public figures. */
  profiles: Array<{ profile: RoutingProfile; quality: Interval; costShare: number; ofFrontier: number }>
}

export interface TierPolicy {
  policy: string
  /** At SPENDS, and what it is above random neighbours there. */
  quality: Interval[]
  aboveRandom: Interval[]
  /** The least share of the cost of always taking `frontier` for its quality less two points; null: not reached. */
  frontierLessTwo: number | null
}

/** Shares of the cost of always taking `strong`. */
export const SPENDS = [0.25, 0.5, 0.73, 1, 1.5, 2.5]

const TIERS = ['light', 'standard', 'strong', 'frontier'] as const
/** USD per million tokens of the prompt, and how much more the completion costs: usual prices, so that families compare. */
const TIER_PROMPT_USD = [0.1, 0.4, 1.5, 5]
const COMPLETION_TIMES = 4
/** List prices, three of prompt to one of completion, from which a named model stands for the next tier. */
const FROM_USD = [0.3, 1.2, 5]
const MILLION = 1e6
const STRONG = TIERS.indexOf('strong')
const STEPS = 10

interface TierPrompt extends Prompt {
  family: string
  /** Expected quality of each tier by public figures. */
  expected: number[]
}

/** The tier of each prompt, for each setting of a policy. */
type Settings = ReadonlyArray<readonly number[]>

interface Policy {
  policy: string
  settings: Settings
  /** Only neighbouring settings are mixed. */
  neighbours?: true
}

/** Scores are of weights trained without the family, and so is the curve that makes expected quality of public figures. */
export function tierCurves(
  scored: readonly ScoredRow[],
  { resamples = 200 }: { resamples?: number | undefined } = {},
): TierResult | null {
  const prompts = tierPrompts(scored)
  if (prompts.length === 0) return null
  const byExpected = ({ expected }: TierPrompt) => expected
  const always = TIERS.map((_, tier) => prompts.map(() => tier))
  const policies: Policy[] = [
    { policy: 'neighbouring tiers, mixed at random', settings: always, neighbours: true },
    { policy: 'any two tiers, mixed at random', settings: always },
    { policy: 'prompt length', settings: ranked(prompts, ({ chars }) => chars) },
    { policy: 'score', settings: ranked(prompts, ({ score }) => score) },
    { policy: 'value, public figures', settings: POINT_USD.map((usd) => byValue(prompts, byExpected, usd)) },
    { policy: 'oracle', settings: POINT_USD.map((usd) => byValue(prompts, ({ results }) => results, usd)) },
  ]
  const profiles = ROUTING_PROFILES.filter((profile) => profile !== 'agentic').map((profile) => ({
    profile,
    settings: [byValue(prompts, byExpected, DEFAULT_POINT_USD[profile])],
  }))
  const random = seededRandom(prompts.length)
  const weightings = [
    evenWeights(prompts),
    ...Array.from({ length: resamples }, () => drawnWeights(prompts, random)),
  ]
  const measured = weightings.map((weights) => {
    const tiers = pointsOf(prompts, always, weights)
    const { usd: strong } = tiers[STRONG]!
    const atRandom = SPENDS.map((share) => qualityAt(tiers, share * strong, true))
    return {
      tiers,
      policies: policies.map(({ settings, neighbours }) => {
        const points = pointsOf(prompts, settings, weights)
        return {
          quality: SPENDS.map((share) => qualityAt(points, share * strong, neighbours)),
          frontierLessTwo: shareForFrontierLessTwo(points, tiers.at(-1)!),
        }
      }),
      atRandom,
      profiles: profiles.map(({ settings }) => pointsOf(prompts, settings, weights)[0]!),
    }
  })
  const { tiers, profiles: points } = measured[0]!
  const costShare = ({ usd }: CostPoint) => usd / tiers[STRONG]!.usd
  const over = (of: (one: (typeof measured)[number]) => number) => intervalOf(measured.map(of))
  return {
    families: Object.fromEntries(
      [...Map.groupBy(prompts, ({ family }) => family)].map(([name, rows]) => [name, rows.length]),
    ),
    tiers: TIERS.map((tier, at) => ({
      tier,
      quality: over((one) => one.tiers[at]!.quality),
      costShare: costShare(tiers[at]!),
    })),
    policies: policies.map(({ policy }, at) => ({
      policy,
      quality: SPENDS.map((_, spend) => over((one) => one.policies[at]!.quality[spend]!)),
      aboveRandom: SPENDS.map((_, spend) =>
        over((one) => one.policies[at]!.quality[spend]! - one.atRandom[spend]!),
      ),
      frontierLessTwo: measured[0]!.policies[at]!.frontierLessTwo,
    })),
    profiles: profiles.map(({ profile }, at) => ({
      profile,
      quality: over((one) => one.profiles[at]!.quality),
      costShare: costShare(points[at]!),
      ofFrontier: points[at]!.usd / tiers.at(-1)!.usd,
    })),
  }
}

function tierPrompts(scored: readonly ScoredRow[]): TierPrompt[] {
  const named = namedModels()
  return [...Map.groupBy(scored, ({ row }) => row.family)].flatMap(([family, rows]) => {
    const others = scored.filter(({ row }) => row.family !== family)
    const curve = fitCurve(knownResults(others, named))
    return [...Map.groupBy(rows, ({ row }) => row.dataset).values()].flatMap((part) =>
      ofDataset(part, named, curve),
    )
  })
}

/** The rows of a data set with results of all its named models; none if they are of a single tier. */
function ofDataset(
  rows: readonly ScoredRow[],
  named: ReadonlyMap<string, NamedModel>,
  curve: QualityCurve,
): TierPrompt[] {
  const models = [...new Set(rows.flatMap(({ row }) => [...row.results.keys()]))]
    .flatMap((name) => named.get(name) ?? [])
    .sort((a, b) => listUsd(a) - listUsd(b))
  const inTier = (tier: number) => models.find((model) => tierOf(model) === tier)
  // A tier that the data lacks is the next above it, or the highest there is: at that one's price, so that it gains nothing.
  const present = TIERS.map((_, tier) => tier).filter(inTier)
  if (present.length < 2) return []
  const standIn = TIERS.map((_, tier) => present.find((other) => other >= tier) ?? present.at(-1)!)
  return rows.flatMap(({ row, score, features }) => {
    if (!models.every(({ name }) => row.results.has(name))) return []
    const kind = taskKind(features)
    const ease = easeOf(kind, score, curve)
    const promptTokens = row.prompt.length / CHARS_PER_TOKEN
    return [
      {
        family: row.family,
        kind,
        score,
        chars: row.prompt.length,
        results: standIn.map((tier) => row.results.get(inTier(tier)!.name)!),
        usd: standIn.map(
          (tier) =>
            (TIER_PROMPT_USD[tier]! * (promptTokens + COMPLETION_TIMES * ANSWER_TOKENS[kind])) / MILLION,
        ),
        expected: standIn.map((tier) => expectedQuality(atLeast(inTier(tier)!.abilities[kind]), ease, curve)),
      },
    ]
  })
}

const listUsd = ({ promptUsd, completionUsd }: NamedModel): number =>
  ((3 * promptUsd + completionUsd) / 4) * MILLION
const tierOf = (model: NamedModel): number => FROM_USD.filter((bound) => listUsd(model) >= bound).length

/** From every tier to the next, the prompts that come first move first. */
function ranked(prompts: readonly TierPrompt[], orderOf: (prompt: TierPrompt) => number): number[][] {
  const sorted = prompts.map(orderOf).sort((a, b) => a - b)
  return TIERS.slice(1).flatMap((_, tier) =>
    Array.from({ length: STEPS + 1 }, (_, step) => {
      const bound = sorted[Math.floor((step * sorted.length) / STEPS)] ?? Number.POSITIVE_INFINITY
      return prompts.map((prompt) => (orderOf(prompt) >= bound ? tier + 1 : tier))
    }),
  )
}

function byValue(
  prompts: readonly TierPrompt[],
  expect: (prompt: TierPrompt) => number[],
  pointUsd: number,
): number[] {
  return prompts.map((prompt) => {
    const values = expect(prompt).map(
      (quality, tier) => 100 * quality - (1_000 * prompt.usd[tier]!) / pointUsd,
    )
    return values.indexOf(Math.max(...values))
  })
}

/** Weights of the prompts with the same sum for every family. */
function evenWeights(prompts: readonly TierPrompt[]): Float64Array {
  const families = Map.groupBy(prompts, ({ family }) => family)
  return Float64Array.from(prompts, ({ family }) => 1 / (families.size * families.get(family)!.length))
}

/** The same for a bootstrap sample of each family. */
function drawnWeights(prompts: readonly TierPrompt[], random: () => number): Float64Array {
  const weights = new Float64Array(prompts.length)
  const families = Map.groupBy(prompts.keys(), (index) => prompts[index]!.family)
  for (const rows of families.values()) {
    const each = 1 / (families.size * rows.length)
    for (const _ of rows) weights[rows[Math.floor(random() * rows.length)]!]! += each
  }
  return weights
}

function pointsOf(prompts: readonly TierPrompt[], settings: Settings, weights: Float64Array): CostPoint[] {
  return settings.map((tiers) => {
    let usd = 0
    let quality = 0
    for (let index = 0; index < prompts.length; index++) {
      const { usd: costs, results } = prompts[index]!
      usd += weights[index]! * costs[tiers[index]!]!
      quality += weights[index]! * results[tiers[index]!]!
    }
    return { usd, quality }
  })
}

const FRONTIER_STEPS = 200

function shareForFrontierLessTwo(points: readonly CostPoint[], frontier: CostPoint): number | null {
  for (let step = 1; step <= FRONTIER_STEPS; step++) {
    const share = step / FRONTIER_STEPS
    if (qualityAt(points, share * frontier.usd) >= frontier.quality - POINTS_LESS) return share
  }
  return null
}

/** The first value is that of the rows themselves, the others are of bootstrap samples: a 95% interval. */
function intervalOf([value = Number.NaN, ...resampled]: readonly number[]): Interval {
  const sorted = resampled.toSorted((a, b) => a - b)
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? value
  return { value, low: at(0.025), high: at(0.975) }
}
