/** Solves (A + ridge·I) x = b for a symmetric positive definite A, by Cholesky's decomposition. A is used up. */
export function solveRidge(a: Float64Array[], b: Float64Array, ridge: number): Float64Array {
  const size = b.length
  for (let i = 0; i < size; i++) {
    const row = a[i]!
    row[i]! += ridge
    for (let j = 0; j <= i; j++) {
      const other = a[j]!
      let sum = row[j]!
      for (let k = 0; k < j; k++) sum -= row[k]! * other[k]!
      row[j] = i === j ? Math.sqrt(Math.max(sum, 1e-9)) : sum / other[j]!
    }
  }
  const x = Float64Array.from(b)
  for (let i = 0; i < size; i++) {
    for (let k = 0; k < i; k++) x[i]! -= a[i]![k]! * x[k]!
    x[i]! /= a[i]![i]!
  }
  for (let i = size - 1; i >= 0; i--) {
    for (let k = i + 1; k < size; k++) x[i]! -= a[k]![i]! * x[k]!
    x[i]! /= a[i]![i]!
  }
  return x
}

/** Examples that are compared with each other only: inputs and targets are centred within the group. */
export interface FitGroup {
  inputs: readonly Float64Array[]
  targets: readonly number[]
  /** Of each example. */
  weight: number
}

/** Least squares with a ridge over groups: what separates examples of the same group. */
export function fitWithinGroups(groups: readonly FitGroup[], ridge: number): Float64Array {
  const size = groups[0]!.inputs[0]!.length
  const a = Array.from({ length: size }, () => new Float64Array(size))
  const b = new Float64Array(size)
  for (const { inputs, targets, weight } of groups) {
    const means = columnMeans(inputs)
    const targetMean = mean(targets)
    // The sum of products less the product of sums: as if centred, and inputs that are zero cost nothing.
    for (const [index, input] of inputs.entries()) {
      const target = targets[index]! - targetMean
      for (let k = 0; k < size; k++) addTo(a[k]!, b, k, weight * input[k]!, input, target)
    }
    const total = weight * inputs.length
    for (let k = 0; k < size; k++) addTo(a[k]!, b, k, -total * means[k]!, means, 0)
  }
  return solveRidge(a, b, ridge)
}

function addTo(
  row: Float64Array,
  b: Float64Array,
  k: number,
  value: number,
  input: Float64Array,
  target: number,
): void {
  if (value === 0) return
  b[k]! += value * target
  for (let l = 0; l <= k; l++) row[l]! += value * input[l]!
}

export function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let index = 0; index < a.length; index++) sum += a[index]! * b[index]!
  return sum
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)

export const deviation = (values: readonly number[]): number => {
  const centre = mean(values)
  return Math.sqrt(mean(values.map((value) => (value - centre) ** 2)))
}

function columnMeans(inputs: readonly Float64Array[]): Float64Array {
  const means = new Float64Array(inputs[0]!.length)
  for (const input of inputs) for (let k = 0; k < means.length; k++) means[k]! += input[k]! / inputs.length
  return means
}
