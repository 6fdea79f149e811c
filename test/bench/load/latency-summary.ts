export interface LatencySummary {
  p50Ms: number
  p99Ms: number
}

/** Percentiles by nearest rank; NaN for no samples. */
export function summarize(samplesMs: readonly number[]): LatencySummary {
  const sorted = Float64Array.from(samplesMs).sort()
  const rank = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
  return { p50Ms: rank(0.5), p99Ms: rank(0.99) }
}

/** The middle of some figures, of an even number the mean of the two in the middle; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1)
  return middle.reduce((sum, value) => sum + value, 0) / middle.length
}
