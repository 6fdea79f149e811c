import { DEFAULT_POINT_USD } from '../../core/auto/auto-routing.ts'
import { type CostPoint, qualityAt } from '../../core/auto/cost-curve.ts'
import { FEATURES } from '../../core/auto/difficulty/prompt-features.ts'
import { type Abilities, easeOf, expectedQuality } from '../../core/auto/model-quality.ts'
import type { RoutingProfile } from '../../core/auto/tiers.ts'
import { seededRandom } from '../../core/kernel/seeded-random.ts'
import type { KnownOutcome } from './outcome-store.ts'
import { decodeVector } from './outcome-vector.ts'

/** Cost against quality on a deployment's own traffic: each pair is a prompt that two models answered. */
export interface PairCurve {
  pairs: number
  /** What each model cost and achieved on the prompts that it answered; different prompts for different models. */
  models: Array<{ model: string; answers: number; quality: Interval; usdPer1000: number }>
  /** Always the cheaper and always the dearer of the two models. */
  cheaper: CostPoint
  dearer: CostPoint
  /** Quality at SHARES of the way from the cost of the cheaper to that of the dearer. */
  policies: Array<{ policy: string; quality: Interval[] }>
  profiles: Array<{ profile: RoutingProfile; quality: Interval; usd: number }>
}

export interface Interval {
  value: number
  low: number
  high: number
}

export const SHARES = [0.25, 0.5, 0.75]
const RESAMPLES = 200
const PROFILES = ['eco', 'auto', 'premium'] as const
const PICO_PER_USD = 1e12
const CALLS = 1_000
const POINTS = 100
const LENGTH = FEATURES.indexOf('chars')
const POINT_USD = Array.from({ length: 61 }, (_, step) => 10 ** (-3 + step / 10))

interface Side {
  model: string
  outcome: number
  usd: number
  /** By the catalog, at the kind and difficulty of the prompt. */
  expected: number
}

/** The sides in the order of their cost. */
interface Prompt {
  score: number
  length: number
  sides: readonly [Side, Side]
}

/** The side of each prompt, for each setting. */
type Settings = ReadonlyArray<readonly number[]>

/**
 * Measures policies of choosing one of the two models of every pair. Pairs of models that the catalog no longer has are
 * left out; null: there is none. Costs are what the completions cost, which a policy knows only before by estimate.
 */
export function pairCurve(
  outcomes: readonly KnownOutcome[],
  abilities: ReadonlyMap<string, Abilities>,
  pointUsd: Partial<Record<RoutingProfile, number>> = {},
): PairCurve | null {
  const prompts = outcomes.flatMap((outcome) => promptOf(outcome, abilities) ?? [])
  if (prompts.length === 0) return null
  const always = [0, 1].map((side) => prompts.map(() => side))
  const policies: Array<[string, Settings]> = [
    ['mixed at random', always],
    ['length of the question', ranked(prompts, ({ length }) => length)],
    ['score', ranked(prompts, ({ score }) => score)],
    ['value', POINT_USD.map((usd) => byValue(prompts, ({ expected }) => expected, usd))],
    ['oracle', POINT_USD.map((usd) => byValue(prompts, ({ outcome }) => outcome, usd))],
  ]
  const priced = PROFILES.map((profile) => ({
    profile,
    usd: pointUsd[profile] ?? DEFAULT_POINT_USD[profile],
  }))
  const profiles: Settings = priced.map(({ usd }) => byValue(prompts, ({ expected }) => expected, usd))
  const samples = samplesOf(prompts.length)
  const measured = samples.map((sample) => {
    const [cheaper, dearer] = pointsOf(prompts, always, sample) as [CostPoint, CostPoint]
    return {
      ...{ cheaper, dearer },
      policies: policies.map(([, settings]) => {
        const points = pointsOf(prompts, settings, sample)
        return SHARES.map((share) => qualityAt(points, cheaper.usd + share * (dearer.usd - cheaper.usd)))
      }),
      profiles: pointsOf(prompts, profiles, sample),
    }
  })
  const { cheaper, dearer, profiles: points } = measured[0]!
  return {
    pairs: prompts.length,
    models: modelsOf(prompts),
    ...{ cheaper, dearer },
    policies: policies.map(([policy], at) => ({
      policy,
      quality: SHARES.map((_, share) => intervalOf(measured.map((one) => one.policies[at]![share]!))),
    })),
    profiles: priced.map(({ profile }, at) => ({
      profile,
      quality: intervalOf(measured.map((one) => one.profiles[at]!.quality)),
      usd: points[at]!.usd,
    })),
  }
}

function promptOf(
  { kind, score, modelId, outcome, costPico, pair }: KnownOutcome,
  abilities: ReadonlyMap<string, Abilities>,
): Prompt | null {
  const vector = pair && decodeVector(pair.vector)
  const [served, other] = [abilities.get(modelId), pair && abilities.get(pair.otherModelId)]
  if (!vector || !served || !other) return null
  const ease = easeOf(kind, score)
  const sideOf = (model: string, known: Abilities, result: number, pico: bigint): Side => ({
    model,
    outcome: result,
    usd: Number(pico) / PICO_PER_USD,
    expected: expectedQuality(known[kind].value, ease),
  })
  const sides = [
    sideOf(modelId, served, outcome, costPico),
    sideOf(pair.otherModelId, other, pair.otherOutcome, pair.otherCostPico),
  ].sort((a, b) => a.usd - b.usd) as [Side, Side]
  return { score, length: vector.features[LENGTH]!, sides }
}

/** The longest or hardest prompts to the dearer model: every bound is a setting. */
function ranked(prompts: readonly Prompt[], orderOf: (prompt: Prompt) => number): Settings {
  const steps = 20
  const sorted = prompts.map(orderOf).sort((a, b) => a - b)
  return Array.from({ length: steps + 1 }, (_, step) => {
    const bound = sorted[Math.floor((step * sorted.length) / steps)] ?? Number.POSITIVE_INFINITY
    return prompts.map((prompt) => (orderOf(prompt) >= bound ? 1 : 0))
  })
}

function byValue(prompts: readonly Prompt[], qualityOf: (side: Side) => number, pointUsd: number): number[] {
  const worthOf = (side: Side) => POINTS * qualityOf(side) - (CALLS * side.usd) / pointUsd
  return prompts.map(({ sides: [cheaper, dearer] }) => (worthOf(dearer) > worthOf(cheaper) ? 1 : 0))
}

/** The prompts themselves, then bootstrap samples of them, by index. */
function samplesOf(count: number): Uint32Array[] {
  const random = seededRandom(count)
  const drawn = () => Uint32Array.from({ length: count }, () => Math.floor(random() * count))
  return [
    Uint32Array.from({ length: count }, (_, index) => index),
    ...Array.from({ length: RESAMPLES }, drawn),
  ]
}

function pointsOf(prompts: readonly Prompt[], settings: Settings, sample: Uint32Array): CostPoint[] {
  return settings.map((chosen) => {
    let usd = 0
    let quality = 0
    for (const index of sample) {
      const side = prompts[index]!.sides[chosen[index]!]!
      usd += side.usd
      quality += side.outcome
    }
    return { usd: usd / sample.length, quality: quality / sample.length }
  })
}

function modelsOf(prompts: readonly Prompt[]): PairCurve['models'] {
  const answers = Map.groupBy(
    prompts.flatMap(({ sides }) => sides),
    ({ model }) => model,
  )
  return [...answers]
    .map(([model, sides]) => {
      const mean = sides.reduce((sum, { outcome }) => sum + outcome, 0) / sides.length
      const variance = sides.reduce((sum, { outcome }) => sum + (outcome - mean) ** 2, 0) / sides.length
      const error = 1.96 * Math.sqrt(variance / sides.length)
      const usdPer1000 = (CALLS * sides.reduce((sum, { usd }) => sum + usd, 0)) / sides.length
      const quality = { value: mean, low: mean - error, high: mean + error }
      return { model, answers: sides.length, quality, usdPer1000 }
    })
    .sort((a, b) => a.usdPer1000 - b.usdPer1000)
}

/** The first value is that of the prompts themselves: a 95% interval. */
function intervalOf([value = Number.NaN, ...resampled]: readonly number[]): Interval {
  const sorted = resampled.toSorted((a, b) => a - b)
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? value
  return { value, low: at(0.025), high: at(0.975) }
}
