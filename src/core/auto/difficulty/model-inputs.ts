import { FEATURES } from './prompt-features.ts'

const MOST_DEVIATIONS = 2.5

/** Features in standard deviations from their mean, at most 2.5; one that says nothing is at its mean. */
export function standardized(
  values: Float64Array,
  { means, scales }: { means: Float64Array; scales: Float64Array },
): Float64Array {
  return values.map((value, index) => {
    if (Number.isNaN(value)) return 0
    return Math.max(-MOST_DEVIATIONS, Math.min(MOST_DEVIATIONS, (value - means[index]!) / scales[index]!))
  })
}

/** Each feature is an input as it is, and times the two gates. */
const GATED_COPIES = 3
const OPTIONS = FEATURES.indexOf('options')
const OPERATORS = FEATURES.indexOf('operators')
const GATE_WEIGHT = 0.7

/** Features whose effect bends: from 5 words to 20 difficulty rises otherwise than from 50 to 200. */
const CURVED = [
  'distinct_words',
  'chars',
  'sentences',
  'numbers',
  'commas',
  'rarity',
  'rarest_words',
  'long_word_share',
  'names',
  'sentence_words',
  'word_letters',
  'operators',
  'number_share',
  'distinct_share',
  'rare_share',
  'option_chars',
  'option_rarity',
  'option_distinct_share',
].map((name) => FEATURES.indexOf(name))
/** Where they may bend, in standard deviations. At each: an input that is zero below it, as it is and with the options' gate. */
const KNOTS = [-1.2, -0.4, 0.4, 1.2]
const HINGE_COPIES = 2

const size = FEATURES.length
const hingeAt = (curve: number, knot: number) =>
  size * GATED_COPIES + (curve * KNOTS.length + knot) * HINGE_COPIES

export const INPUT_COUNT = hingeAt(CURVED.length, 0)

/** Of each feature, the inputs it has: itself first, then its gated copies, then its hinges if it is curved. */
export const INPUTS_OF: readonly (readonly number[])[] = FEATURES.map((_, feature) => {
  const copies = Array.from({ length: GATED_COPIES }, (_, copy) => copy * size + feature)
  const curve = CURVED.indexOf(feature)
  if (curve < 0) return copies
  const hinges = Array.from({ length: KNOTS.length * HINGE_COPIES }, (_, index) => hingeAt(curve, 0) + index)
  return [...copies, ...hinges]
})

/** What weights are multiplied with: standardized features, the same times a gate (has it options, how formal is it), and hinges. */
export function modelInputs(features: Float64Array): Float64Array {
  const inputs = new Float64Array(INPUT_COUNT)
  const byOptions = GATE_WEIGHT * Math.sign(features[OPTIONS]!)
  const byOperators = GATE_WEIGHT * Math.max(-1.5, Math.min(1.5, features[OPERATORS]!))
  for (let index = 0; index < size; index++) {
    inputs[index] = features[index]!
    inputs[size + index] = features[index]! * byOptions
    inputs[2 * size + index] = features[index]! * byOperators
  }
  for (let curve = 0; curve < CURVED.length; curve++) {
    for (let knot = 0; knot < KNOTS.length; knot++) {
      const above = Math.max(0, features[CURVED[curve]!]! - KNOTS[knot]!)
      const at = hingeAt(curve, knot)
      inputs[at] = above
      inputs[at + 1] = above * byOptions
    }
  }
  return inputs
}

/** Weights of features as weights that count for prompts without options only: the gated copies cancel them for others. */
export function withoutOptions(weights: Float64Array): Float64Array {
  const gated = new Float64Array(INPUT_COUNT)
  for (let index = 0; index < size; index++) {
    gated[index] = weights[index]! / 2
    gated[size + index] = -weights[index]! / (2 * GATE_WEIGHT)
  }
  return gated
}
