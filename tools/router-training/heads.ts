import { FEATURES } from '../../src/core/auto/difficulty/prompt-features.ts'
import { deviation, fitWithinGroups } from './linear-fit.ts'
import type { Example } from './router-rows.ts'

const DIFFICULTY_RIDGE = 1000

export const failing = ({ row }: Example) => 1 - row.weak

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

const indexes = (values: readonly unknown[]): number[] => [...values.keys()]
