/** Whole numbers with thousands separators. */
export const formatCount = (count: number): string => count.toLocaleString('en-US')

/** A count of tokens in short: `128K`, `1M`, `1.05M`. For context windows, where the exact number is beside it. */
export function formatTokens(tokens: number): string {
  if (tokens < 1_000) return String(tokens)
  if (tokens < 1_000_000) return `${trimZeros((tokens / 1_000).toFixed(tokens < 10_000 ? 1 : 0))}K`
  return `${trimZeros((tokens / 1_000_000).toFixed(2))}M`
}

const trimZeros = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text)

/** A duration: `312 ms`, `1.24 s`, `2 min 5 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 60_000) return `${trimZeros((milliseconds / 1_000).toFixed(2))} s`
  const seconds = Math.round(milliseconds / 1_000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** A discount as the feed has it (`"0.05"`) in percent: `5%`. */
export const formatDiscount = (fraction: string): string =>
  `${trimZeros((Number(fraction) * 100).toFixed(2))}%`

/** One and many: `1 call`, `2,000 calls`. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`

/** Rate limits as one short text; null stands for the default. */
export function rateLimitsText(requestsPerMinute: number | null, concurrentCalls: number | null): string {
  if (requestsPerMinute === null && concurrentCalls === null) return 'the default'
  const text = (count: number | null) => (count === null ? 'default' : formatCount(count))
  return `${text(requestsPerMinute)}/min, ${text(concurrentCalls)} at once`
}
