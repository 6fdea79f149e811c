/** The share of the input that a provider's prompt cache served: `75%`. */
export const cachedShare = (of: { prompt_tokens: number; cached_tokens?: number }): string =>
  of.prompt_tokens === 0 ? '–' : `${Math.round((100 * (of.cached_tokens ?? 0)) / of.prompt_tokens)}%`
