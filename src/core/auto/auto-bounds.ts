import { TIERS, type Tier } from './auto-tiers.ts'

/** What a client may bias `auto` towards: cost, balance, quality or tool use. */
export const ROUTING_PROFILES = ['eco', 'auto', 'premium', 'agentic'] as const
export type RoutingProfile = (typeof ROUTING_PROFILES)[number]

/** The name that leaves the choice of a model to us. */
export const AUTO_MODEL = 'auto'

/** Whether a name that a client asked for, suffix and all, leaves the choice to us: its target is not told. */
export const isAutoModel = (asked: string): boolean => asked.split(':', 1)[0] === AUTO_MODEL

/** From which score on the second, third and fourth tier is used; a bound that is missing is never reached. */
export type TierBounds = readonly number[]
export type AutoBounds = Record<RoutingProfile, TierBounds>

/**
 * Where the catalog says nothing else. Small talk and look-ups score below 0.2; scores of examination questions
 * are about evenly spread. Under `auto` and `agentic` at most 5% of mixed traffic goes to the fourth tier by its
 * score: `mixedScores` of the weights tell which bound does that.
 */
export const DEFAULT_BOUNDS: AutoBounds = {
  eco: [0.5, 0.85],
  auto: [0.25, 0.5, 0.96],
  premium: [0, 0.2, 0.5],
  agentic: [0, 0.3, 0.96],
}

/** A conversation leaves a tier only when its score is so far below the bound that it came in by. */
const STICKINESS = 0.15

/**
 * The tier that a conversation calls for, by its scores after each turn: up at once, down only when the score
 * has fallen well below the bound, so that it does not change targets to and fro.
 */
export function tierOf(scores: readonly number[], bounds: TierBounds): Tier {
  const place = (score: number) => bounds.filter((bound) => score >= bound).length
  let current = 0
  for (const score of scores) {
    current = Math.min(Math.max(current, place(score)), place(score + STICKINESS))
  }
  return TIERS[current]!
}

/** The share of calls that stays below each bound when bounds are fitted to traffic. */
const SHARES_BELOW: AutoBounds = {
  eco: [0.75, 0.97],
  auto: [0.4, 0.8, 0.97],
  premium: [0, 0.35, 0.75],
  agentic: [0, 0.5, 0.96],
}

/** Bounds that cut the scores of someone's own traffic into tiers of usual sizes. Rejects nothing: no scores, default bounds. */
export function boundsFitting(scores: readonly number[]): AutoBounds {
  if (scores.length === 0) return DEFAULT_BOUNDS
  const sorted = scores.toSorted((a, b) => a - b)
  const at = (share: number) =>
    share === 0
      ? 0
      : Number(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!.toFixed(4))
  return {
    eco: SHARES_BELOW.eco.map(at),
    auto: SHARES_BELOW.auto.map(at),
    premium: SHARES_BELOW.premium.map(at),
    agentic: SHARES_BELOW.agentic.map(at),
  }
}
