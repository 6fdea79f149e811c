import { oncePer } from '../../kernel/once-per.ts'
import { FEATURES } from './prompt-features.ts'
import { type DifficultyModel, SHIPPED_MODEL } from './score-turns.ts'

/** What a deployment's own traffic adds to the shipped difficulty. Sums in standard deviations of the shipped sum. */
export interface LearnedHead {
  /** Factor of the shipped sum, above 0. */
  shipped: number
  /** Added to every sum. */
  shift: number
  /** Weights of the standardized features by name. */
  features: Record<string, number>
  /** The products of the static word vectors with a head, in the order of the shipped words: signed bytes, base64. */
  words: { unit: number; products: string }
}

/**
 * The model with a head: the same form as the shipped one, so that a prompt costs as much. A head that was learned by a
 * version of the gateway with other features or words does not apply: the shipped model.
 */
export const learnedModel = oncePer((head: LearnedHead): DifficultyModel => {
  const { meanings } = SHIPPED_MODEL
  const learned = new Int8Array(Buffer.from(head.words.products, 'base64'))
  const names = Object.keys(head.features)
  if (learned.length !== meanings.products.length || names.length !== FEATURES.length) return SHIPPED_MODEL
  if (!FEATURES.every((name) => Object.hasOwn(head.features, name))) return SHIPPED_MODEL
  // new = shift + shipped * (sum - mean) / deviation + added: the same as one sum with another mean and deviation.
  const deviation = SHIPPED_MODEL.deviation / head.shipped
  const weights = Float64Array.from(SHIPPED_MODEL.weights)
  for (const [at, name] of FEATURES.entries()) weights[at]! += deviation * head.features[name]!
  const products = Float32Array.from(
    meanings.products,
    (product, row) => product * meanings.unit + deviation * learned[row]! * head.words.unit,
  )
  return {
    ...SHIPPED_MODEL,
    weights,
    meanings: { ...meanings, products, unit: 1 },
    mean: SHIPPED_MODEL.mean - deviation * head.shift,
    deviation,
  }
})

/** The difficulty model of a catalog. */
export const difficultyModel = ({ autoHead }: { autoHead?: LearnedHead }): DifficultyModel =>
  autoHead ? learnedModel(autoHead) : SHIPPED_MODEL
