import { FEATURES, type PromptFeatures, promptFeatures } from './prompt-features.ts'
import { RARITY_BITS } from './scan-text.ts'
import { slotOf } from './word-hash.ts'

/** The weights as shipped: `difficulty-weights.json`, written by `npm run router:train`. */
export interface WeightsDocument {
  /** Date of the training, and what was trained on. */
  trained: string
  data: string
  /** By feature: mean and scale over the training data, then the weights `[mean, scale, plain, options, operators]`. */
  features: Record<string, number[]>
  /** Signed bytes, base64: the weight of each slot of 2^bits words, in units of `unit`. */
  words: { bits: number; unit: number; weights: string }
  /** Half bytes, base64: how rare the words of each slot of 2^RARITY_BITS are. */
  rarity: string
  /** Mean and standard deviation of the sum over the training data. */
  mean: number
  deviation: number
}

/** Weights, decoded. */
export interface DifficultyModel {
  rarity: Uint8Array
  means: Float64Array
  scales: Float64Array
  /** Of each feature, then of each feature times its gates. */
  weights: Float64Array
  wordBits: number
  wordWeights: Float64Array
  mean: number
  deviation: number
}

/** Decodes weights once, at start. Throws where they do not fit this code's features. */
export function decodeModel(document: WeightsDocument): DifficultyModel {
  const size = FEATURES.length
  const model: DifficultyModel = {
    rarity: decodeRarity(document.rarity),
    means: new Float64Array(size),
    scales: new Float64Array(size),
    weights: new Float64Array(size * GATED_COPIES),
    wordBits: document.words.bits,
    wordWeights: decodeWords(document.words),
    mean: document.mean,
    deviation: document.deviation,
  }
  if (Object.keys(document.features).length !== size) throw new Error('weights of other features than known')
  for (const [index, name] of FEATURES.entries()) {
    const numbers = document.features[name]
    if (numbers?.length !== 2 + GATED_COPIES || !numbers.every(Number.isFinite)) {
      throw new Error(`weights of the feature ${name} are missing or no numbers`)
    }
    const [mean, scale, ...weights] = numbers as [number, number, ...number[]]
    model.means[index] = mean
    model.scales[index] = scale
    for (const [copy, weight] of weights.entries()) model.weights[copy * size + index] = weight
  }
  return model
}

/** How hard a prompt is, 0 to 1; 0 for one without a word or sign. Higher: needs the stronger model. */
export function scorePrompt(prompt: string, model: DifficultyModel): number {
  return scoreFeatures(promptFeatures(prompt, model.rarity), model)
}

/** The logistic of the standardized sum: close to the share of the training data that scores lower. */
export function scoreFeatures(features: PromptFeatures, model: DifficultyModel): number {
  if (features.values[0] === 0) return 0
  const inputs = gatedInputs(standardized(features.values, model))
  let sum = wordSum(features.words, model.wordBits, model.wordWeights)
  for (let index = 0; index < inputs.length; index++) sum += inputs[index]! * model.weights[index]!
  return 1 / (1 + Math.exp((-LOGISTIC_OF_NORMAL * (sum - model.mean)) / model.deviation))
}

/** The logistic with this slope is the normal distribution's, within a hundredth. */
const LOGISTIC_OF_NORMAL = 1.702
const MOST_DEVIATIONS = 2.5

/** Features in standard deviations from their mean, at most 2.5; one that says nothing is at its mean. */
export function standardized(
  values: Float64Array,
  { means, scales }: Pick<DifficultyModel, 'means' | 'scales'>,
): Float64Array {
  return values.map((value, index) => {
    if (Number.isNaN(value)) return 0
    return Math.max(-MOST_DEVIATIONS, Math.min(MOST_DEVIATIONS, (value - means[index]!) / scales[index]!))
  })
}

/** Each input comes three times: as it is, and times the two gates. */
export const GATED_COPIES = 3
const OPTIONS = FEATURES.indexOf('options')
const OPERATORS = FEATURES.indexOf('operators')
const GATE_WEIGHT = 0.7

/** Standardized features, then the same times a gate: has the prompt options, and how formal is it. */
export function gatedInputs(inputs: Float64Array): Float64Array {
  const size = inputs.length
  const gated = new Float64Array(size * GATED_COPIES)
  const byOptions = GATE_WEIGHT * Math.sign(inputs[OPTIONS]!)
  const byOperators = GATE_WEIGHT * Math.max(-1.5, Math.min(1.5, inputs[OPERATORS]!))
  for (let index = 0; index < size; index++) {
    gated[index] = inputs[index]!
    gated[size + index] = inputs[index]! * byOptions
    gated[2 * size + index] = inputs[index]! * byOperators
  }
  return gated
}

/** What the words add: each distinct slot once, less the more words there are. */
function wordSum(words: readonly number[], bits: number, weights: Float64Array): number {
  const slots = wordSlots(words, bits)
  let sum = 0
  for (const slot of slots) sum += weights[slot]!
  return sum * wordValue(slots.size)
}

export const wordSlots = (words: readonly number[], bits: number): Set<number> =>
  new Set(words.map((hash) => slotOf(hash, bits)))

export const wordValue = (slots: number): number => 5 / Math.sqrt(slots + 5)

function decodeWords({ bits, unit, weights }: WeightsDocument['words']): Float64Array {
  const bytes = Buffer.from(weights, 'base64')
  if (bytes.length !== 1 << bits) throw new Error('the table of words has another size than it says')
  return Float64Array.from(new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length), (byte) => byte * unit)
}

/** Two slots a byte, the first in the low half. */
function decodeRarity(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== 1 << (RARITY_BITS - 1)) throw new Error('the table of rarity has another size')
  const table = new Uint8Array(1 << RARITY_BITS)
  for (const [index, byte] of bytes.entries()) {
    table[2 * index] = byte & 15
    table[2 * index + 1] = byte >> 4
  }
  return table
}
