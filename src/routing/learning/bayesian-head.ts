/** Both tiers' results on one prompt, 0 to 1, and what is known of it. */
export interface PairLabel {
  /** The shipped sum. */
  shipped: number
  /** The sets of inputs whose heads are added up. */
  inputs: readonly [features: Float64Array, meaning: Float64Array]
  weak: number
  strong: number
}

/** A linear head: a weight for the shipped sum, and one for each input of each set. */
export interface Head {
  shipped: number
  weights: [features: Float64Array, meaning: Float64Array]
}

/** What a score must rank, with the slope that the shipped score is expected to have. The score is their weighted sum. */
const TARGETS = [
  { of: ({ weak, strong }: PairLabel) => strong - weak, slope: 0.03, share: 1 },
  { of: ({ weak }: PairLabel) => 1 - weak, slope: 0.08, share: 0.5 },
]
/** Inverse variance of the prior of a slope, and those among which that of the inputs' weights is chosen. */
const SLOPE_PENALTY = 300
const PENALTIES = [1e6, 1e4, 3e3, 1e3, 300, 100, 30]
/**
 * What a weaker prior must explain more than the first, which leaves the shipped score as it is: twice the log likelihood. One of six is
 * somewhat better by chance alone.
 */
const LEAST_EVIDENCE = 6
const MOST_LEVERAGE = 0.98

/** The sum of two Bayesian linear heads, one over the features and one over the meaning, each with the shipped sum as prior. */
export function fitHead(labels: readonly PairLabel[]): Head {
  const [features, meaning] = [fitSet(labels, 0), fitSet(labels, 1)]
  return {
    shipped: features.shipped + meaning.shipped,
    weights: [features.weights, meaning.weights],
  }
}

export function headSum({ shipped, weights }: Head, label: Omit<PairLabel, 'weak' | 'strong'>): number {
  let sum = shipped * label.shipped
  for (const [set, inputs] of label.inputs.entries())
    for (let at = 0; at < inputs.length; at++) sum += weights[set]![at]! * inputs[at]!
  return sum
}

interface SetHead {
  shipped: number
  weights: Float64Array
}

/**
 * The head over one set. Each target is a level plus a slope times the shipped sum plus the weighted inputs, which have
 * one common deviation; priors: N(slope, 1 / SLOPE_PENALTY) and N(0, 1 / penalty) in units of the noise. The penalty has the least
 * leave-one-out error, in closed form.
 */
function fitSet(labels: readonly PairLabel[], set: 0 | 1): SetHead {
  const rows = standardizedRows(labels, set)
  const width = rows.scales.length
  const products = crossProducts(rows.centred, width)
  const fits = PENALTIES.map((penalty) => {
    const priors = Float64Array.from(rows.scales, (_, at) => (at === 0 ? SLOPE_PENALTY : penalty))
    const inverse = inverted(products, priors)
    return {
      inverse,
      kept: rows.centred.map(
        (row) => 1 - Math.min(MOST_LEVERAGE, leverage(row, inverse) + 1 / labels.length),
      ),
    }
  })
  const weights = new Float64Array(width)
  for (const { of, slope, share } of TARGETS) {
    const targets = labels.map(of)
    const level = mean(targets)
    const rest = targets.map((target, at) => target - level - slope * rows.centred[at]![0]!)
    const byInput = new Float64Array(width)
    for (const [at, row] of rows.centred.entries())
      for (let input = 0; input < width; input++) byInput[input]! += row[input]! * rest[at]!
    let best = { evidence: Number.NEGATIVE_INFINITY, weights: byInput }
    let shippedError = Number.NaN
    for (const { inverse, kept } of fits) {
      const found = inverse.map((row) => dot(row, byInput))
      const error = mean(rows.centred.map((row, at) => ((rest[at]! - dot(row, found)) / kept[at]!) ** 2))
      if (Number.isNaN(shippedError)) shippedError = error
      const evidence =
        labels.length * Math.log(shippedError / error) - (error === shippedError ? 0 : LEAST_EVIDENCE)
      if (evidence > best.evidence) best = { evidence, weights: Float64Array.from(found) }
    }
    // The order of the shipped scores is never reversed.
    best.weights[0] = Math.max(0, best.weights[0]! + slope)
    for (let input = 0; input < width; input++) weights[input]! += share * best.weights[input]!
  }
  const unscaled = weights.map((weight, at) => weight / rows.scales[at]!)
  return { shipped: unscaled[0]!, weights: unscaled.subarray(1) }
}

/** The shipped sum and the inputs of each label, less their means, in deviations. A constant input is left out. */
function standardizedRows(labels: readonly PairLabel[], set: 0 | 1) {
  const raw = labels.map(({ shipped, inputs }) => Float64Array.from([shipped, ...inputs[set]]))
  const width = raw[0]!.length
  const means = Float64Array.from({ length: width }, (_, at) => mean(raw.map((row) => row[at]!)))
  const scales = Float64Array.from({ length: width }, (_, at) => {
    const deviation = Math.sqrt(mean(raw.map((row) => (row[at]! - means[at]!) ** 2)))
    return deviation < 1e-9 ? Number.POSITIVE_INFINITY : deviation
  })
  return { scales, centred: raw.map((row) => row.map((value, at) => (value - means[at]!) / scales[at]!)) }
}

function crossProducts(rows: readonly Float64Array[], width: number): Float64Array[] {
  const products = Array.from({ length: width }, () => new Float64Array(width))
  for (const row of rows)
    for (let one = 0; one < width; one++)
      for (let other = 0; other <= one; other++) products[one]![other]! += row[one]! * row[other]!
  for (let one = 0; one < width; one++)
    for (let other = 0; other < one; other++) products[other]![one] = products[one]![other]!
  return products
}

/** The inverse of a positive definite matrix with priors added to its diagonal, by Gauss-Jordan elimination. */
function inverted(matrix: readonly Float64Array[], priors: Float64Array): Float64Array[] {
  const width = matrix.length
  const rows = matrix.map((row, at) => {
    const wide = new Float64Array(2 * width)
    wide.set(row)
    wide[at]! += priors[at]!
    wide[width + at] = 1
    return wide
  })
  for (let pivot = 0; pivot < width; pivot++) {
    const row = rows[pivot]!
    const by = 1 / row[pivot]!
    for (let at = 0; at < 2 * width; at++) row[at]! *= by
    for (const other of rows) {
      const factor = other === row ? 0 : other[pivot]!
      if (factor !== 0) for (let at = pivot; at < 2 * width; at++) other[at]! -= factor * row[at]!
    }
  }
  return rows.map((row) => row.subarray(width))
}

function leverage(row: Float64Array, inverse: readonly Float64Array[]): number {
  let sum = 0
  for (let at = 0; at < row.length; at++) sum += row[at]! * dot(inverse[at]!, row)
  return sum
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += a[at]! * b[at]!
  return sum
}

export const mean = (values: ArrayLike<number>): number => {
  let sum = 0
  for (let at = 0; at < values.length; at++) sum += values[at]!
  return sum / Math.max(1, values.length)
}
