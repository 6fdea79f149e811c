import { FEATURES, type PromptFeatures } from '../../src/core/auto/difficulty/prompt-features.ts'
import { wordSlots, wordSum, wordValue } from '../../src/core/auto/difficulty/score-turns.ts'
import { deviation, fitSparse, fitWithinGroups, mean, sparseDot } from './linear-fit.ts'
import type { Example } from './router-rows.ts'

const DIFFICULTY_RIDGE = 1000
const CONSENSUS_RIDGE = 1000
const WORDS_RIDGE = 300
const WORD_BITS = 15
const LARGEST_BYTE = 127
/** Smaller groups measure chance rather than their field. */
const CONSENSUS_ROWS = 80

export const failing = ({ row }: Example) => 1 - row.weak
export const gaining = ({ row }: Example) => row.strong - row.weak

/** One fit over all rows, each compared with its own data set only. */
export function pooledHead(
  examples: readonly Example[],
  inputs: readonly Float64Array[],
  target: (example: Example) => number,
): Float64Array {
  const families = Map.groupBy(examples, ({ row }) => row.family)
  const groups = [...Map.groupBy(indexes(examples), (index) => examples[index]!.row.dataset).values()].map(
    (rows) => {
      const family = families.get(examples[rows[0]!]!.row.family)!.length
      return fitGroup(examples, inputs, rows, target, Math.sqrt(examples.length / family))
    },
  )
  return fitWithinGroups(groups, DIFFICULTY_RIDGE)
}

/** A fit in each field of each data set, averaged within its family, then over the families. */
export function consensusHead(examples: readonly Example[], inputs: readonly Float64Array[]): Float64Array {
  const fields = Map.groupBy(indexes(examples), (index) => {
    const { row } = examples[index]!
    return `${row.dataset} ${row.field}`
  })
  const large = [...fields.values()].filter((rows) => rows.length >= CONSENSUS_ROWS)
  const byFamily = Map.groupBy(large, (rows) => examples[rows[0]!]!.row.family)
  const sum = new Float64Array(inputs[0]!.length)
  for (const family of byFamily.values()) {
    for (const rows of family) {
      const head = fitWithinGroups([fitGroup(examples, inputs, rows, failing, 1)], CONSENSUS_RIDGE)
      for (let index = 0; index < sum.length; index++) sum[index]! += head[index]! / family.length
    }
  }
  return sum
}

function fitGroup(
  examples: readonly Example[],
  inputs: readonly Float64Array[],
  rows: readonly number[],
  target: (example: Example) => number,
  weight: number,
) {
  const raw = rows.map((index) => target(examples[index]!))
  const scale = deviation(raw) || 1
  return { inputs: rows.map((index) => inputs[index]!), targets: raw.map((value) => value / scale), weight }
}

export function namedHead(named: Record<string, number>, size: number): Float64Array {
  const head = new Float64Array(size)
  for (const [name, weight] of Object.entries(named)) {
    const index = FEATURES.indexOf(name)
    if (index < 0) throw new Error(`there is no feature ${name}`)
    head[index] = weight
  }
  return head
}

/** The words' head, for what the weak tier fails and for what the strong tier gains alike, as the signed bytes it is shipped in. */
export function wordHead(examples: readonly Example[], share: number) {
  const rows = examples.map(({ features }) => {
    const slots = wordSlots(features.words, WORD_BITS)
    return { slots: Int32Array.from(slots), value: wordValue(slots.size) }
  })
  const sum = new Float64Array(1 << WORD_BITS)
  for (const target of [failing, gaining]) {
    const head = fitSparse(rows, withinDatasets(examples, target), 1 << WORD_BITS, WORDS_RIDGE)
    const scale = deviation(rows.map((row) => sparseDot(row, head))) || 1
    for (let slot = 0; slot < sum.length; slot++) sum[slot]! += (share * head[slot]!) / scale
  }
  const unit = sum.reduce((most, weight) => Math.max(most, Math.abs(weight)), 1e-9) / LARGEST_BYTE
  const bytes = Int8Array.from(sum, (weight) => Math.round(weight / unit))
  return {
    table: { bits: WORD_BITS, unit, weights: Buffer.from(bytes.buffer).toString('base64') },
    sumOf: (features: PromptFeatures) => unit * wordSum(features, WORD_BITS, bytes),
  }
}

/** A target in standard deviations from the mean of its data set. */
function withinDatasets(examples: readonly Example[], target: (example: Example) => number): number[] {
  const targets = new Array<number>(examples.length)
  for (const rows of Map.groupBy(indexes(examples), (index) => examples[index]!.row.dataset).values()) {
    const raw = rows.map((index) => target(examples[index]!))
    const centre = mean(raw)
    const scale = deviation(raw) || 1
    for (const [at, index] of rows.entries()) targets[index] = (raw[at]! - centre) / scale
  }
  return targets
}

const indexes = (values: readonly unknown[]): number[] => [...values.keys()]
