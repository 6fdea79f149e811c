import { FEATURES } from '../../src/core/auto/difficulty/prompt-features.ts'
import {
  INPUTS_OF,
  modelInputs,
  standardized,
  type WeightsDocument,
  withoutOptions,
} from '../../src/core/auto/difficulty/score-turns.ts'
import { failing, namedHead, pooledHead } from './heads.ts'
import { deviation, dot, mean } from './linear-fit.ts'
import { type Example, encodeRarity, type RouterRow, rarityTable } from './router-rows.ts'
import type { WordVectors } from './word-vectors.ts'

/** How much each head counts; each is scaled to deviation 1 over the training data first. */
export interface HeadMix {
  /** Will the weak tier fail, by the features and the mean word vector: one fit over all rows. */
  difficulty: number
  /** What is known beforehand of kinds of work that the data lacks: PRIOR, and PRIOR_WITHOUT_OPTIONS unscaled. */
  prior: number
  everyday: number
}

/** Chosen by cross-validation over families and fields that were left out; docs/auto-routing.md has the results. */
export const HEAD_MIX: HeadMix = {
  difficulty: 4.5,
  prior: 1.1,
  everyday: 3,
}

/**
 * Weights of features that the data cannot teach, since it holds examination questions only: formal work and
 * work in steps is harder than greetings, translations and prose. Set by hand, in standard deviations.
 */
const PRIOR: Record<string, number> = {
  distinct_words: 1,
  operators: 0.25,
  math_share: 0.25,
  numbers: 0.2,
  code_fence: 0.3,
  braces: 0.2,
  mixed_case_words: 0.15,
  underscores_in_words: 0.15,
  cue_code: 0.4,
  cue_mathematics: 0.4,
  cue_reason: 0.3,
  cue_compute: 0.2,
  cue_logic: 0.25,
  cue_step: 0.2,
  cue_quantity: 0.15,
  cue_structure: 0.1,
  cue_simple: -0.4,
  cue_create: -0.25,
  cue_define: -0.1,
}

/**
 * The same for prompts without lettered options, which examination questions have: everyday wishes may be long and are
 * easy, and hard ones may be short. Nothing is measured by it but the order of prompts written for a test. In standard
 * deviations of a feature, and not scaled: the data hardly has what it speaks of.
 */
const PRIOR_WITHOUT_OPTIONS: Record<string, number> = {
  cue_expert: 0.25,
  cue_everyday: -0.6,
  cue_simple: -0.2,
  cue_create: -0.2,
}

/** Below this mean, the completions of the strong tier were graded wrongly: an error of the data, not of the model. */
const BROKEN_STRONG = 0.1

/** The same for every training: it comes from the vocabulary alone. */
const RARITY = encodeRarity(rarityTable())

/** Trains the weights on examples. Deterministic. */
export function trainModel(
  examples: readonly Example[],
  vectors: WordVectors,
  about: Pick<WeightsDocument, 'data'> = { data: '' },
  mix: HeadMix = HEAD_MIX,
): WeightsDocument {
  const used = withoutBrokenSubjects(examples)
  const { means, scales } = moments(used)
  const plain = used.map(({ features }) => standardized(features.values, { means, scales }))
  const inputs = plain.map(modelInputs)
  const weights = new Float64Array(inputs[0]!.length)
  const add = (head: Float64Array, share: number) => {
    const scale = deviation(inputs.map((input) => dot(input, head))) || 1
    for (let index = 0; index < weights.length; index++) weights[index]! += (share * head[index]!) / scale
  }
  const vector = addWithVectors(used, inputs, weights, mix.difficulty)
  add(namedHead(PRIOR, weights.length), mix.prior)
  const freely = withoutOptions(namedHead(PRIOR_WITHOUT_OPTIONS, weights.length))
  for (let index = 0; index < weights.length; index++) weights[index]! += mix.everyday * freely[index]!

  const sums = used.map(({ vector: own }, index) => dot(inputs[index]!, weights) + dot(own, vector))
  return {
    ...about,
    features: Object.fromEntries(
      FEATURES.map((name, index) => {
        const own = INPUTS_OF[index]!.map((input) => weights[input]!)
        return [name, [means[index]!, scales[index]!, ...own].map(rounded)]
      }),
    ),
    meanings: vectors.meanings(vector),
    rarity: RARITY,
    mean: rounded(mean(sums)),
    deviation: rounded(deviation(sums)),
  }
}

/**
 * Fits failure of the weak tier on the inputs and the question's mean word vector together. Adds the part of the inputs
 * to their weights and returns that of the vector.
 */
function addWithVectors(
  examples: readonly Example[],
  inputs: readonly Float64Array[],
  weights: Float64Array,
  share: number,
): Float64Array {
  const spread = deviation(examples.flatMap(({ vector }) => [...vector])) || 1
  const extended = inputs.map((input, index) =>
    Float64Array.from([...input, ...examples[index]!.vector.map((value) => value / spread)]),
  )
  const head = pooledHead(examples, extended, failing)
  const scale = deviation(extended.map((input) => dot(input, head))) || 1
  for (let index = 0; index < weights.length; index++) weights[index]! += (share * head[index]!) / scale
  return head.slice(weights.length).map((weight) => (share * weight) / scale / spread)
}

/** Rows of subjects in which the strong tier was graded right. */
export function withoutBrokenSubjects<T extends { row: RouterRow }>(examples: readonly T[]): T[] {
  const subjects = Map.groupBy(examples, ({ row }) => `${row.dataset} ${row.subject}`)
  return [...subjects.values()].flatMap((group) =>
    mean(group.map(({ row }) => row.strong)) < BROKEN_STRONG ? [] : group,
  )
}

/** Means and scales of the features; each family counts by the root of its size, so that none drowns the others. */
function moments(examples: readonly Example[]): { means: Float64Array; scales: Float64Array } {
  const families = Map.groupBy(examples, ({ row }) => row.family)
  const means = new Float64Array(FEATURES.length)
  const scales = new Float64Array(FEATURES.length)
  for (let index = 0; index < FEATURES.length; index++) {
    let weights = 0
    let sum = 0
    let squares = 0
    for (const { row, features } of examples) {
      const value = features.values[index]!
      if (Number.isNaN(value)) continue
      const weight = 1 / Math.sqrt(families.get(row.family)!.length)
      weights += weight
      sum += weight * value
      squares += weight * value * value
    }
    // A feature may be undefined for every prompt: word rarity, of text in another language than English.
    means[index] = weights > 0 ? sum / weights : 0
    scales[index] = Math.sqrt(Math.max(1e-6, weights > 0 ? squares / weights - means[index]! ** 2 : 1))
  }
  return { means, scales }
}

const rounded = (value: number): number => Number(value.toPrecision(6))
