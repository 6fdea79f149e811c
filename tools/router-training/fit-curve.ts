import { difficultyOf, type QualityCurve } from '../../src/core/auto/model-quality.ts'
import { TASK_KINDS, type TaskKind } from '../../src/core/auto/quality-figure.ts'
import { mean, solveRidge } from './linear-fit.ts'

/** One model's result on one prompt. */
export interface KnownResult {
  dataset: string
  kind: TaskKind
  ability: number
  score: number
  /** 0 to 1. */
  result: number
}

const ofKinds = (of: (kind: TaskKind) => number) =>
  Object.fromEntries(TASK_KINDS.map((kind) => [kind, of(kind)])) as Record<TaskKind, number>

const ROUNDS = 25
/** A kind with fewer results counts as absent. */
const LEAST_RESULTS = 500
const RIDGE = 1e-3

/** Logistic regression of results on ability, difficulty and kind, every data set of the same weight. Deterministic. */
export function fitCurve(all: readonly KnownResult[]): QualityCurve {
  const byKind = Map.groupBy(all, ({ kind }) => kind)
  const kinds = TASK_KINDS.filter((kind) => (byKind.get(kind)?.length ?? 0) >= LEAST_RESULTS)
  const results = kinds.flatMap((kind) => byKind.get(kind)!)
  const sizes = Map.groupBy(results, ({ dataset }) => dataset)
  const size = 2 + kinds.length
  const weights = new Float64Array(size)
  for (let round = 0; round < ROUNDS; round++) {
    const hessian = Array.from({ length: size }, () => new Float64Array(size))
    const gradient = new Float64Array(size)
    for (const { dataset, kind, ability, score, result } of results) {
      const weight = 1_000 / sizes.get(dataset)!.length
      const inputs: Array<[number, number]> = [
        [0, ability],
        [1, -difficultyOf(score)],
        [2 + kinds.indexOf(kind), 1],
      ]
      const expected = 1 / (1 + Math.exp(-inputs.reduce((sum, [at, value]) => sum + weights[at]! * value, 0)))
      for (const [at, value] of inputs) {
        gradient[at]! += weight * (result - expected) * value
        for (const [other, factor] of inputs)
          hessian[at]![other]! += weight * expected * (1 - expected) * value * factor
      }
    }
    const step = solveRidge(hessian, gradient, RIDGE)
    for (let index = 0; index < size; index++) weights[index]! += step[index]!
  }
  const known = new Map(kinds.map((kind, index) => [kind, weights[2 + index]!]))
  const usual = mean([...known.values()])
  return {
    perAbility: weights[0]!,
    perDifficulty: ofKinds(() => weights[1]!),
    ease: ofKinds((kind) => known.get(kind) ?? usual),
  }
}
