/** Marks of an axis from zero: round numbers at equal distances, the last of which is at or above every value. */
export function axisMarks(largest: number, isWhole = false): number[] {
  const rough = (largest > 0 ? largest : 1) / MARKS
  const power = 10 ** Math.floor(Math.log10(rough))
  const round = [1, 2, 5, 10].find((factor) => factor * power >= rough)! * power
  const step = isWhole ? Math.max(1, round) : round
  const count = Math.ceil((largest > 0 ? largest : 1) / step - ROUNDING)
  // A multiple of 0.1 may have a last digit that is none of its own.
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(DIGITS)))
}

const MARKS = 4
const ROUNDING = 1e-9
const DIGITS = 12

/** The left edge and the width of each of some columns beside each other; `padding`: the share of a step between them. */
export function columnPlaces(count: number, from: number, to: number, padding: number) {
  const step = (to - from) / Math.max(1, count + padding)
  return { left: (index: number) => from + step * (padding + index), width: step * (1 - padding) }
}

/** The column at a place, or the nearest. */
export function columnAt(count: number, from: number, to: number, place: number): number {
  const index = Math.floor(((place - from) / (to - from)) * count)
  return Math.min(count - 1, Math.max(0, index))
}

/** The runs of numbers among values, each with the places of its values: a line is not drawn through what is not known. */
export function lineRuns(values: ReadonlyArray<number | null>): Array<Array<[index: number, value: number]>> {
  const runs: Array<Array<[number, number]>> = [[]]
  values.forEach((value, index) => {
    if (value === null) runs.push([])
    else runs.at(-1)!.push([index, value])
  })
  return runs.filter((run) => run.length > 0)
}

/** Where a key moves to from the chosen of some points in a row, the last with the index `last`; undefined: nowhere. */
export function stepOf(key: string, chosen: number | null, last: number): number | null | undefined {
  const moves: Record<string, number | null> = {
    ArrowLeft: Math.max(0, (chosen ?? last + 1) - 1),
    ArrowRight: Math.min(last, (chosen ?? -1) + 1),
    Home: 0,
    End: last,
    Escape: null,
  }
  return moves[key]
}

/** Marks of a logarithmic axis around some values above zero, about `count` of them: 1, 2 and 5, or powers of ten. */
export function logMarks(values: readonly number[], count: number): number[] {
  const low = Math.floor(Math.log10(Math.min(...values)) + ROUNDING)
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values)) - ROUNDING))
  const steps = (high - low) * 3 < count ? [1, 2, 5] : [1]
  const marks = Array.from({ length: high - low }, (_, power) =>
    steps.map((step) => Number((step * 10 ** (low + power)).toPrecision(DIGITS))),
  )
  return [...marks.flat(), Number((10 ** high).toPrecision(DIGITS))]
}

interface Place {
  x: number
  y: number
}

/** The index of the point nearest to a place, at most 40 pixels from it; null: none is. */
export function nearestPoint(points: readonly Place[], at: Place): number | null {
  const distances = points.map(({ x, y }) => Math.hypot(x - at.x, y - at.y))
  const least = Math.min(...distances)
  return least <= NEAR ? distances.indexOf(least) : null
}

const NEAR = 40
