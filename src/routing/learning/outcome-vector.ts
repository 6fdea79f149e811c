import { FEATURES, promptFeatures } from '../../core/auto/difficulty/prompt-features.ts'
import {
  type DifficultyModel,
  lastQuestion,
  SHIPPED_MODEL,
  standardized,
  standardizedSum,
} from '../../core/auto/difficulty/score-turns.ts'
import type { ChatMessage } from '../../core/calls/chat-request.ts'
import { meanVector } from './word-vectors.ts'

/** The first so many components of the static word vectors. */
export const STATIC_DIMENSIONS = 32
const LENGTH = 1 + FEATURES.length + STATIC_DIMENSIONS
const FLOAT_BYTES = 4

/** A prompt as numbers: enough to learn its difficulty, and not enough to restore its text. */
export interface PromptVector {
  /** The sum whose logistic is the shipped score, in standard deviations. */
  shipped: number
  /** In standard deviations, in the order of FEATURES. */
  features: Float64Array
  /** Of the mean vector of the words. */
  meaning: Float64Array
}

/** Reads the user's last turn. Synchronous; about 50 µs for a typical prompt. Loads 2 MB of word vectors once. */
export function promptVector(
  messages: readonly ChatMessage[],
  model: DifficultyModel = SHIPPED_MODEL,
): PromptVector {
  const features = promptFeatures(lastQuestion(messages), model.rarity)
  return {
    shipped: standardizedSum(features, model),
    features: standardized(features.values, model),
    meaning: meanVector(features.questionWords).subarray(0, STATIC_DIMENSIONS),
  }
}

/** The vector as it is stored: 32-bit floats, little endian. */
export function outcomeVector(messages: readonly ChatMessage[]): Uint8Array {
  return encodeVector(promptVector(messages))
}

export function encodeVector({ shipped, features, meaning }: PromptVector): Uint8Array {
  const bytes = Buffer.alloc(LENGTH * FLOAT_BYTES)
  for (const [at, value] of [shipped, ...features, ...meaning].entries())
    bytes.writeFloatLE(value, at * FLOAT_BYTES)
  return bytes
}

/** Null if it was stored by a version of the gateway with other features. */
export function decodeVector(stored: Uint8Array): PromptVector | null {
  if (stored.length !== LENGTH * FLOAT_BYTES) return null
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength)
  const values = Float64Array.from({ length: LENGTH }, (_, at) => bytes.readFloatLE(at * FLOAT_BYTES))
  const words = 1 + FEATURES.length
  return { shipped: values[0]!, features: values.subarray(1, words), meaning: values.subarray(words) }
}
