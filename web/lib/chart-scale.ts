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
