import { seededRandom } from '../../core/kernel/seeded-random.ts'
import { fitHead, headSum, mean, type PairLabel } from './bayesian-head.ts'

/** Fewer pairs show too little of a head. */
export const LEAST_PAIRS = 300

/** How a head compares with the shipped scores on labels that it did not see. */
export interface GateResult {
  pairs: number
  /** Of `gainedArea`, and its standard error; null: too few pairs. */
  difference: number | null
  deviation: number | null
  passes: boolean
  /** How much the head counts beside the shipped score, 0 to 1. */
  share: number
}

const FOLDS = 5
const RESAMPLES = 200
/** A head may be worse by this part of the error: to prove it better takes far more pairs than it takes to be better. */
const TOLERATED = 0.5
/** A head counts in full from so many errors on, and less the less it is proven, which bounds what a bad draw costs. */
const FULL_FROM = 1
const SEED = 20_261_125

/** Whether heads learned from four fifths of the labels rank the rest no worse than the shipped scores do. Deterministic. */
export function headGate(labels: readonly PairLabel[]): GateResult {
  const pairs = labels.length
  if (pairs < LEAST_PAIRS) return { pairs, difference: null, deviation: null, passes: false, share: 0 }
  const learned = new Float64Array(pairs)
  for (let fold = 0; fold < FOLDS; fold++) {
    const head = fitHead(labels.filter((_, at) => at % FOLDS !== fold))
    for (let at = fold; at < pairs; at += FOLDS) learned[at] = headSum(head, labels[at]!)
  }
  const shipped = labels.map((label) => label.shipped)
  const gains = labels.map(({ weak, strong }) => strong - weak)
  const random = seededRandom(SEED)
  const differences: number[] = []
  for (let round = 0; round < RESAMPLES; round++) {
    const sample = Uint32Array.from({ length: pairs }, () => Math.floor(random() * pairs))
    differences.push(gainedArea(learned, gains, sample) - gainedArea(shipped, gains, sample))
  }
  const difference = mean(differences)
  const deviation = Math.sqrt(mean(differences.map((one) => (one - difference) ** 2)))
  const errors = deviation > 0 ? difference / deviation : Number.NEGATIVE_INFINITY
  const share = Math.max(0, Math.min(1, (errors + TOLERATED) / (FULL_FROM + TOLERATED)))
  return { pairs, difference, deviation, passes: share > 0, share }
}

/**
 * The mean quality gained per prompt of a sample over all shares of calls that go to the strong model, hardest first. Not divided by
 * the whole gain, as is usual: of pairs of any two models that may be near or below zero.
 */
export function gainedArea(
  scores: ArrayLike<number>,
  gains: ArrayLike<number>,
  sample: ArrayLike<number>,
): number {
  const order = Uint32Array.from(sample).sort((a, b) => scores[b]! - scores[a]!)
  let [gained, area] = [0, 0]
  for (const row of order) {
    area += gained + gains[row]! / 2
    gained += gains[row]!
  }
  return area / order.length ** 2
}
