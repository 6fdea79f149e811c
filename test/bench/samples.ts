import { median } from './load/latency-summary.ts'

export type Unit = '/s' | 'ms' | 'µs' | '%' | 'MB' | 'kB' | ''

/** One figure of one target in one turn. */
export interface Sample {
  name: string
  unit: Unit
  target: string
  value: number
}

/** A figure over the turns of a run. */
export interface Spread {
  median: number
  lowest: number
  highest: number
  /** One a turn that has it, in their order. */
  turns: number[]
}

/** One figure of all targets that have it, by their names. */
export interface Row {
  name: string
  unit: Unit
  figures: Record<string, Spread>
  /** The subject's figure divided by each other target's. */
  ratios: Record<string, Spread>
}

/**
 * Gathers the samples of several turns by figure, in the order in which they first appear. A ratio is computed of two
 * figures of one turn, so that both have met the same machine, and only then put in order; one over nothing or less, such
 * as an added latency within the noise, is left out.
 */
export function compareTurns(turns: readonly (readonly Sample[])[], subject: string): Row[] {
  const rows = new Map<string, { unit: Unit; turns: Map<string, number>[] }>()
  turns.forEach((samples, turn) => {
    for (const { name, unit, target, value } of samples) {
      // The latency of no calls.
      if (!Number.isFinite(value)) continue
      const row = rows.get(name) ?? { unit, turns: turns.map(() => new Map()) }
      rows.set(name, row)
      row.turns[turn]!.set(target, value)
    }
  })
  return [...rows].map(([name, row]) => {
    const targets = [...new Set(row.turns.flatMap((values) => [...values.keys()]))]
    const ratiosTo = (other: string) =>
      row.turns.flatMap((values) => {
        const [own, its] = [values.get(subject), values.get(other)]
        return own !== undefined && its !== undefined && own >= 0 && its > 0 ? own / its : []
      })
    const figuresOf = (target: string) => row.turns.flatMap((values) => values.get(target) ?? [])
    const others = targets.filter((target) => target !== subject && ratiosTo(target).length > 0)
    return {
      name,
      unit: row.unit,
      figures: Object.fromEntries(targets.map((target) => [target, spread(figuresOf(target))])),
      ratios: Object.fromEntries(others.map((other) => [other, spread(ratiosTo(other))])),
    }
  })
}

const spread = (values: number[]): Spread => ({
  median: median(values),
  lowest: Math.min(...values),
  highest: Math.max(...values),
  turns: values,
})
