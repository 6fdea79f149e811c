import { seededRandom } from '../../src/core/kernel/seeded-random.ts'

/** A prompt with its score and what the strong tier gains on it. */
export interface ScoredGain {
  score: number
  gain: number
}

/** Blocks of equal score, highest first: within one the order is random. */
interface Block {
  rows: number
  gain: number
}

function blocks(scored: readonly ScoredGain[]): Block[] {
  const sorted = [...scored].sort((a, b) => b.score - a.score)
  const found: Block[] = []
  let last: number | undefined
  for (const { score, gain } of sorted) {
    if (score !== last) found.push({ rows: 0, gain: 0 })
    last = score
    const block = found.at(-1)!
    block.rows++
    block.gain += gain
  }
  return found
}

/**
 * APGR (RouteLLM): the area under PGR(s) = (quality(s) - weak) / (strong - weak), s the share of calls sent to
 * the strong tier, hardest first. Random routing has 0.5. NaN where the strong tier gains nothing.
 */
export function apgr(scored: readonly ScoredGain[]): number {
  let area = 0
  let total = 0
  let before = 0
  for (const { rows, gain } of blocks(scored)) {
    area += gain * (1 - (before + rows / 2) / scored.length)
    total += gain
    before += rows
  }
  return total > 0 ? area / total : Number.NaN
}

/** CPT(x): the least share of strong calls that recovers the share x of the gap. */
export function callPerformanceThreshold(scored: readonly ScoredGain[], x: number): number {
  const total = scored.reduce((sum, { gain }) => sum + gain, 0)
  let reached = 0
  let before = 0
  for (const { rows, gain } of blocks(scored)) {
    const missing = x * total - reached
    if (gain >= missing && gain > 0) return (before + (rows * Math.max(0, missing)) / gain) / scored.length
    reached += gain
    before += rows
  }
  return 1
}

export interface Interval {
  value: number
  low: number
  high: number
}

const RESAMPLES = 300

/** A measure with its 95% interval by bootstrap. Deterministic: the draws come from a seeded generator. */
export function withInterval(
  scored: readonly ScoredGain[],
  measure: (scored: readonly ScoredGain[]) => number,
  resamples = RESAMPLES,
): Interval {
  const random = seededRandom(scored.length)
  const values = Array.from({ length: resamples }, () =>
    measure(Array.from({ length: scored.length }, () => scored[Math.floor(random() * scored.length)]!)),
  ).sort((a, b) => a - b)
  const at = (share: number) => values[Math.min(values.length - 1, Math.floor(share * values.length))]!
  return { value: measure(scored), low: at(0.025), high: at(0.975) }
}
