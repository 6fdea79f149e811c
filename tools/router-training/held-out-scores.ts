import { decodeModel, scoreFeatures } from '../../src/core/auto/difficulty/difficulty-model.ts'
import type { Example } from './router-rows.ts'
import { type Split, splitsOf } from './splits.ts'
import { trainModel } from './train-model.ts'

/** A row with the score that weights trained without it gave it. */
export interface ScoredRow extends Example {
  score: number
}

/** Trains without each part of the data and scores that part. */
export function heldOutScores(examples: readonly Example[], splits: readonly Split[]): ScoredRow[] {
  return splits.flatMap(({ train, test }) => {
    const model = decodeModel(trainModel(train.map((index) => examples[index]!)))
    return test.map((index) => {
      const example = examples[index]!
      return { ...example, score: scoreFeatures(example.features, model) }
    })
  })
}

/** Fewer kinds of prompts are no mixed traffic. */
const LEAST_FAMILIES = 3

/** As many rows of every family as the smallest has, evenly drawn; none where there are fewer than three families. */
export function equalParts(scored: readonly ScoredRow[]): ScoredRow[] {
  const families = [...Map.groupBy(scored, ({ row }) => row.family).values()]
  if (families.length < LEAST_FAMILIES) return []
  const size = Math.min(...families.map((rows) => rows.length))
  return families.flatMap((rows) => evenlyDrawn(rows, size))
}

/** So many rows, evenly drawn in the order of their ids; where there are fewer, they come several times. */
export function evenlyDrawn(rows: readonly ScoredRow[], size: number): ScoredRow[] {
  const inOrder = rows.toSorted((a, b) => (a.row.id < b.row.id ? -1 : 1))
  return Array.from({ length: size }, (_, index) => inOrder[Math.floor((index * rows.length) / size)]!)
}

const STEPS = 100

/** The quantiles of the scores of mixed traffic that was not trained on, 0% to 100%; none of too few families. */
export function mixedScores(examples: readonly Example[]): number[] {
  const splits = splitsOf(examples.map(({ row }) => row))['families left out']
  const scores = equalParts(heldOutScores(examples, splits)).map(({ score }) => score)
  if (scores.length === 0) return []
  const sorted = scores.sort((a, b) => a - b)
  const last = sorted.length - 1
  return Array.from({ length: STEPS + 1 }, (_, step) =>
    Number(sorted[Math.round((step * last) / STEPS)]!.toFixed(4)),
  )
}
