import { type ChatMessage, type SamplingParameters, textLength } from '../../calls/chat-request.ts'
import type { AutoPrompt } from '../../calls/kinds/call-kind.ts'
import { oncePer } from '../../kernel/once-per.ts'
import type { TaskKind } from '../quality-figure.ts'
import { taskKind } from '../task-kind.ts'
import weights from './difficulty-weights.json' with { type: 'json' }
import { clipped, FEATURES, type PromptFeatures, promptFeatures } from './prompt-features.ts'
import { RARITY_BITS } from './scan-text.ts'
import { decodeMeanings, meanMeaning, type WordMeanings, type WordMeaningsDocument } from './word-meanings.ts'

/** Limits for earlier turns, which are read less completely than the last: their number, and the characters of each. */
const EARLIER_TURNS = 7
const EARLIER_HEAD_CHARS = 1_500
const EARLIER_TAIL_CHARS = 500

/** Factor of a turn's weight for every later turn of the user. */
const KEPT_PER_TURN = 0.93

/** A conversation after one turn of the user. */
export interface TurnReading {
  /** Its difficulty, 0 to 1; higher: needs a stronger model. */
  score: number
  /** The kind of task of the turn that determines the score. */
  kind: TaskKind
}

/**
 * The difficulty and the kind of the conversation after each of the last turns of the user, oldest first. The weight of
 * a turn decreases with every later turn, so that a hard conversation keeps most of its score, and its kind, after
 * "thanks, and in French?". Stateless: computed from the messages. Reads at most about 26,000 characters. A single user
 * message has the score of its prompt. Without any turn of the user: 0.5, once.
 */
export function readTurns(messages: readonly ChatMessage[], parameters: SamplingParameters): TurnReading[] {
  const turns = lastTurns(messages)
  if (turns.length === 0) return [{ score: 0.5, kind: 'other' }]
  const penalty = contextPenalty(messages, parameters)
  let kept = 0
  let kind: TaskKind = 'other'
  return turns.map((turn, index) => {
    const isLast = index === turns.length - 1
    const read = isLast ? textOf(turn) : clipped(textOf(turn), EARLIER_HEAD_CHARS, EARLIER_TAIL_CHARS)
    const features = promptFeatures(read, SHIPPED_MODEL.rarity)
    const score = scoreFeatures(features, SHIPPED_MODEL)
    if (score >= kept * KEPT_PER_TURN) kind = taskKind(features)
    kept = Math.max(score, kept * KEPT_PER_TURN)
    return { score: kept + (1 - kept) * penalty, kind }
  })
}

/** The same for the prompt of a call, read once. */
export const turnsOf = oncePer(({ messages, parameters }: Pick<AutoPrompt, 'messages' | 'parameters'>) =>
  readTurns(messages, parameters),
)

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

/** Raises the score for what makes a question harder: long context, tools, a required schema, images. */
function contextPenalty(messages: readonly ChatMessage[], parameters: SamplingParameters): number {
  let characters = 0
  let hasImages = false
  for (const message of messages) {
    characters += textLength(message)
    if (typeof message.content !== 'string') {
      hasImages ||= message.content.some(({ type }) => type !== 'text')
    }
  }
  // A single question is its own context and is already scored.
  const context = messages.length === 1 ? 0 : Math.log2(1 + characters / CONTEXT_CHARS)
  const hasSchema = parameters.response_format?.type === 'json_schema'
  return (
    Math.min(MAX_FOR_CONTEXT, PER_DOUBLING * context) +
    (parameters.tools ? FOR_TOOLS : 0) +
    (hasSchema ? FOR_SCHEMA : 0) +
    (hasImages ? FOR_IMAGES : 0)
  )
}

/** The text of the user's last turn; empty if there is none. */
export function lastQuestion(messages: readonly ChatMessage[]): string {
  const last = messages.findLast(({ role }) => role === 'user')
  return last ? textOf(last) : ''
}

function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

const MOST_DEVIATIONS = 2.5

/** Features in standard deviations from their mean, at most 2.5; a missing feature is at its mean. */
export function standardized(
  values: Float64Array,
  { means, scales }: { means: Float64Array; scales: Float64Array },
): Float64Array {
  return values.map((value, index) => {
    if (Number.isNaN(value)) return 0
    return Math.max(-MOST_DEVIATIONS, Math.min(MOST_DEVIATIONS, (value - means[index]!) / scales[index]!))
  })
}

/** Each feature is an input unchanged, and once for each of the two gates. */
const GATED_COPIES = 3
const OPTIONS = FEATURES.indexOf('options')
const OPERATORS = FEATURES.indexOf('operators')
const GATE_WEIGHT = 0.7

/** Features with a nonlinear effect: difficulty rises differently from 5 words to 20 than from 50 to 200. */
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
/** The knots, in standard deviations. Each adds an input that is zero below it, plain and with the options' gate. */
const KNOTS = [-1.2, -0.4, 0.4, 1.2]
const HINGE_COPIES = 2

const size = FEATURES.length
const hingeAt = (curve: number, knot: number) =>
  size * GATED_COPIES + (curve * KNOTS.length + knot) * HINGE_COPIES

export const INPUT_COUNT = hingeAt(CURVED.length, 0)

/** The inputs of each feature: itself, then its gated copies, then its hinges if it is curved. */
export const INPUTS_OF: readonly (readonly number[])[] = FEATURES.map((_, feature) => {
  const copies = Array.from({ length: GATED_COPIES }, (_, copy) => copy * size + feature)
  const curve = CURVED.indexOf(feature)
  if (curve < 0) return copies
  const hinges = Array.from({ length: KNOTS.length * HINGE_COPIES }, (_, index) => hingeAt(curve, 0) + index)
  return [...copies, ...hinges]
})

/** The inputs that weights multiply: standardized features, the same times a gate (has options, how formal), and hinges. */
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

/**
 * Turns weights of features into weights that apply only to prompts without options: the gated copies cancel them for
 * others.
 */
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
  data: string
  /** By feature: mean and scale over the training data, then the weights of its inputs, in the order of INPUTS_OF. */
  features: Record<string, number[]>
  /** What the words of the question mean for its difficulty. */
  meanings: WordMeaningsDocument
  /** Half bytes, base64: the rarity of the words of each slot of 2^RARITY_BITS. */
  rarity: string
  /** Mean and standard deviation of the sum over the training data. */
  mean: number
  deviation: number
}

export interface DifficultyModel {
  rarity: Uint8Array
  means: Float64Array
  scales: Float64Array
  /** One per input. */
  weights: Float64Array
  meanings: WordMeanings
  mean: number
  deviation: number
}

/** Decodes weights once, at start. Throws if they do not match the features of this code. */
export function decodeModel(document: WeightsDocument): DifficultyModel {
  const model: DifficultyModel = {
    rarity: decodeRarity(document.rarity),
    means: new Float64Array(size),
    scales: new Float64Array(size),
    weights: new Float64Array(INPUT_COUNT),
    meanings: decodeMeanings(document.meanings),
    mean: document.mean,
    deviation: document.deviation,
  }
  if (Object.keys(document.features).length !== size)
    throw new Error('the weights do not match the known features')
  for (const [index, name] of FEATURES.entries()) {
    const numbers = document.features[name]
    const inputs = INPUTS_OF[index]!
    if (numbers?.length !== 2 + inputs.length || !numbers.every(Number.isFinite)) {
      throw new Error(`the weights of feature ${name} are missing or not numbers`)
    }
    const [mean, scale, ...weights] = numbers as [number, number, ...number[]]
    model.means[index] = mean
    model.scales[index] = scale
    for (const [at, weight] of weights.entries()) model.weights[inputs[at]!] = weight
  }
  return model
}

/** The difficulty of a prompt, 0 to 1; 0 if it has no word or sign. Higher: needs a stronger model. */
export function scorePrompt(prompt: string, model: DifficultyModel): number {
  return scoreFeatures(promptFeatures(prompt, model.rarity), model)
}

/** The logistic of the standardized sum, which is close to the share of the training data with a lower score. */
export function scoreFeatures(features: PromptFeatures, model: DifficultyModel): number {
  return features.values[0] === 0 ? 0 : logisticOfNormal(standardizedSum(features, model))
}

/** The weighted sum of a prompt's features and words, in standard deviations. */
export function standardizedSum(features: PromptFeatures, model: DifficultyModel): number {
  const inputs = modelInputs(standardized(features.values, model))
  let sum = meanMeaning(features.questionWords, model.meanings)
  for (let index = 0; index < inputs.length; index++) sum += inputs[index]! * model.weights[index]!
  return (sum - model.mean) / model.deviation
}

/** The score of a sum. */
export const logisticOfNormal = (sum: number): number => 1 / (1 + Math.exp(-LOGISTIC_OF_NORMAL * sum))

/** The logistic with this slope is the normal distribution's, within a hundredth. */
const LOGISTIC_OF_NORMAL = 1.702
/** Two slots a byte, the first in the low half. */
function decodeRarity(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== 1 << (RARITY_BITS - 1)) throw new Error('the size of the rarity table is wrong')
  const table = new Uint8Array(1 << RARITY_BITS)
  for (const [index, byte] of bytes.entries()) {
    table[2 * index] = byte & 15
    table[2 * index + 1] = byte >> 4
  }
  return table
}

/** The weights in this repository, decoded when the process starts. */
export const SHIPPED_MODEL: DifficultyModel = decodeModel(weights)
