import { decodeModel, scoreFeatures } from '../../src/core/auto/difficulty/score-turns.ts'
import { seededRandom } from '../../src/core/kernel/seeded-random.ts'
import type { Example, RouterRow } from './router-rows.ts'
import { trainModel } from './train-model.ts'
import type { WordVectors } from './word-vectors.ts'

/** What is trained on and what is scored, by index. */
export interface Split {
  train: number[]
  test: number[]
}

export type Protocol = 'families left out' | 'fields left out' | 'subjects left out' | 'questions left out'

const SUBJECT_FOLDS = 6
const QUESTION_FOLDS = 5

/**
 * Four ways to hold data back, hardest first: whole families of data sets; fields (law, health …) in every data
 * set at once; single subjects; questions of known subjects. A question never stands on both sides.
 */
export function splitsOf(rows: readonly RouterRow[]): Record<Protocol, Split[]> {
  const manySubjects = new Set(
    [...new Set(rows.map((row) => row.family))].filter((family) => subjectsIn(rows, family) >= SUBJECT_FOLDS),
  )
  const among = (row: RouterRow, name: string) => (manySubjects.has(row.family) ? name : null)
  const random = seededRandom(1)
  const subjectFold = drawn(
    rows.map((row) => row.subject),
    SUBJECT_FOLDS,
    random,
  )
  const questionFold = drawn(
    rows.map((row) => row.key),
    QUESTION_FOLDS,
    random,
  )
  return {
    'families left out': splitBy(rows, (row) => row.family),
    'fields left out': splitBy(rows, (row) => among(row, row.field)),
    'subjects left out': splitBy(rows, (row) => among(row, String(subjectFold.get(row.subject)))),
    'questions left out': splitBy(rows, (row) => String(questionFold.get(row.key))),
  }
}

function splitBy(rows: readonly RouterRow[], partOf: (row: RouterRow) => string | null): Split[] {
  const parts = rows.map(partOf)
  return [...new Set(parts)].flatMap((part) => {
    if (part === null) return []
    const test = [...rows.keys()].filter((index) => parts[index] === part)
    const keys = new Set(test.map((index) => rows[index]!.key))
    const train = [...rows.keys()].filter((index) => parts[index] !== part && !keys.has(rows[index]!.key))
    return train.length > 0 ? [{ train, test }] : []
  })
}

function subjectsIn(rows: readonly RouterRow[], family: string): number {
  return new Set(rows.filter((row) => row.family === family).map((row) => row.subject)).size
}

function drawn(names: readonly string[], folds: number, random: () => number): Map<string, number> {
  const fold = new Map<string, number>()
  for (const name of names) if (!fold.has(name)) fold.set(name, Math.floor(random() * folds))
  return fold
}

/** A row with the score that weights trained without it gave it. */
export interface ScoredRow extends Example {
  score: number
}

/** Trains without each part of the data and scores that part. */
export function heldOutScores(
  examples: readonly Example[],
  vectors: WordVectors,
  splits: readonly Split[],
): ScoredRow[] {
  return splits.flatMap(({ train, test }) => {
    const model = decodeModel(
      trainModel(
        train.map((index) => examples[index]!),
        vectors,
      ),
    )
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
