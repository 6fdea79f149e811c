import type { ChatMessage, SamplingParameters } from '../../calls/chat-request.ts'
import { textLength } from '../../routing/plan-candidate.ts'
import weights from './difficulty-weights.json' with { type: 'json' }
import { clipped, FEATURES, type PromptFeatures, promptFeatures } from './prompt-features.ts'
import { RARITY_BITS, slotOf } from './scan-text.ts'

/** Earlier turns are read less closely than the last: so many of them, and so many characters of each. */
const EARLIER_TURNS = 7
const EARLIER_HEAD_CHARS = 1_500
const EARLIER_TAIL_CHARS = 500

/** A turn's weight, with every turn of the user that follows it. */
const KEPT_PER_TURN = 0.93

/**
 * How hard the conversation was after each of the last turns of the user, oldest first. A turn counts in full
 * when it comes and less with every turn after it, so that a hard conversation stays near where it is when it
 * goes on with "thanks, and in French?". No state: the messages say it all. Reads at most about 26,000
 * characters. A lone message of the user scores what its prompt scores. Without any turn of the user: 0.5, once.
 */
export function scoreTurns(
  messages: readonly ChatMessage[],
  parameters: SamplingParameters,
  model: DifficultyModel,
): number[] {
  const turns = lastTurns(messages)
  if (turns.length === 0) return [0.5]
  const penalty = contextPenalty(messages, parameters)
  let kept = 0
  return turns.map((turn, index) => {
    const isLast = index === turns.length - 1
    const read = isLast ? textOf(turn) : clipped(textOf(turn), EARLIER_HEAD_CHARS, EARLIER_TAIL_CHARS)
    kept = Math.max(scorePrompt(read, model), kept * KEPT_PER_TURN)
    return kept + (1 - kept) * penalty
  })
}

function lastTurns(messages: readonly ChatMessage[]): ChatMessage[] {
  const turns: ChatMessage[] = []
  for (let index = messages.length - 1; index >= 0 && turns.length <= EARLIER_TURNS; index--) {
    if (messages[index]!.role === 'user') turns.push(messages[index]!)
  }
  return turns.reverse()
}

const CONTEXT_CHARS = 8_000
const PER_DOUBLING = 0.03
const MAX_FOR_CONTEXT = 0.12
const FOR_TOOLS = 0.05
const FOR_SCHEMA = 0.05
const FOR_IMAGES = 0.05

/** What comes with the question and makes it harder: long context, tools, a schema to keep to, images. */
function contextPenalty(messages: readonly ChatMessage[], parameters: SamplingParameters): number {
  let characters = 0
  let hasImages = false
  for (const message of messages) {
    characters += textLength(message)
    if (typeof message.content !== 'string') {
      hasImages ||= message.content.some(({ type }) => type !== 'text')
    }
  }
  // A lone question is its own context, and has been scored.
  const context = messages.length === 1 ? 0 : Math.log2(1 + characters / CONTEXT_CHARS)
  const hasSchema = parameters.response_format?.type === 'json_schema'
  return (
    Math.min(MAX_FOR_CONTEXT, PER_DOUBLING * context) +
    (parameters.tools ? FOR_TOOLS : 0) +
    (hasSchema ? FOR_SCHEMA : 0) +
    (hasImages ? FOR_IMAGES : 0)
  )
}

/** The text of the user's last turn; empty where there is none. */
export function lastQuestion(messages: readonly ChatMessage[]): string {
  const last = messages.findLast(({ role }) => role === 'user')
  return last ? textOf(last) : ''
}

function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

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

/** The weights as shipped: `difficulty-weights.json`, written by `npm run router:train`. */
export interface WeightsDocument {
  /** What was trained on. */
  data: string
  /**
   * Mixed traffic: the quantiles, 0% to 100% in steps of 1%, of the scores of equal parts of every family of the
   * data, each scored by weights that were trained without that family. The default bounds of the tiers go by it.
   */
  mixedScores: number[]
  /** By feature: mean and scale over the training data, then the weights of its inputs, in the order of INPUTS_OF. */
  features: Record<string, number[]>
  /** Signed bytes, base64: the weight of each slot of 2^bits words, in units of `unit`. */
  words: { bits: number; unit: number; weights: string }
  /** Half bytes, base64: how rare the words of each slot of 2^RARITY_BITS are. */
  rarity: string
  /** Mean and standard deviation of the sum over the training data. */
  mean: number
  deviation: number
}

export interface DifficultyModel {
  rarity: Uint8Array
  means: Float64Array
  scales: Float64Array
  /** Of each input. */
  weights: Float64Array
  wordBits: number
  wordWeights: Float64Array
  mean: number
  deviation: number
}

/** Decodes weights once, at start. Throws where they do not fit this code's features. */
export function decodeModel(document: WeightsDocument): DifficultyModel {
  const model: DifficultyModel = {
    rarity: decodeRarity(document.rarity),
    means: new Float64Array(size),
    scales: new Float64Array(size),
    weights: new Float64Array(INPUT_COUNT),
    wordBits: document.words.bits,
    wordWeights: decodeWords(document.words),
    mean: document.mean,
    deviation: document.deviation,
  }
  if (Object.keys(document.features).length !== size) throw new Error('weights of other features than known')
  for (const [index, name] of FEATURES.entries()) {
    const numbers = document.features[name]
    const inputs = INPUTS_OF[index]!
    if (numbers?.length !== 2 + inputs.length || !numbers.every(Number.isFinite)) {
      throw new Error(`weights of the feature ${name} are missing or no numbers`)
    }
    const [mean, scale, ...weights] = numbers as [number, number, ...number[]]
    model.means[index] = mean
    model.scales[index] = scale
    for (const [at, weight] of weights.entries()) model.weights[inputs[at]!] = weight
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
  const inputs = modelInputs(standardized(features.values, model))
  let sum = wordSum(features, model.wordBits, model.wordWeights)
  for (let index = 0; index < inputs.length; index++) sum += inputs[index]! * model.weights[index]!
  return 1 / (1 + Math.exp((-LOGISTIC_OF_NORMAL * (sum - model.mean)) / model.deviation))
}

/** The logistic with this slope is the normal distribution's, within a hundredth. */
const LOGISTIC_OF_NORMAL = 1.702
/**
 * Words carry over to other questions with options, and hardly to anything else: examination questions of one
 * field share their words, prompts of another kind share chance with them.
 */
const WORDS_WITHOUT_OPTIONS = 0.2

/** What the words add: each distinct slot once, less the more words there are, and less where there are no options. */
export function wordSum(
  { words, hasOptions }: Pick<PromptFeatures, 'words' | 'hasOptions'>,
  bits: number,
  weights: ArrayLike<number>,
): number {
  const slots = wordSlots(words, bits)
  let sum = 0
  for (const slot of slots) sum += weights[slot]!
  return sum * wordValue(slots.size) * (hasOptions ? 1 : WORDS_WITHOUT_OPTIONS)
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

/** The weights in this repository, decoded once when the process starts. */
export const SHIPPED_MODEL: DifficultyModel = decodeModel(weights)
