import type { Offer } from '../catalog/catalog.ts'

/** What calls at an offer did with its provider's prompt cache, as measured: tokens of their prompts, older ones weigh less. */
export interface CacheUse {
  promptTokens: number
  readTokens: number
  writtenTokens: number
}

/** The parts of prompts that are read from, and written to, a provider's cache: between 0 and 1. */
export interface CacheShares {
  read: number
  written: number
}

export const NO_CACHE: CacheShares = { read: 0, written: 0 }

/** Shorter prompts are not cached: the least that providers cache. */
export const LEAST_CACHED_TOKENS = 1_024

/** An offer's own measurements count as much as those of all offers of its model once it has so many prompt tokens. */
const TRUSTED_TOKENS = 100_000
/** No measurement predicts that nearly all of the next prompt is cached. */
const SHARE_MAX = 0.95

/**
 * The shares to expect at each of some offers of a model. An offer that few calls measured is expected to be like the
 * others: its hit rate depends on the conversations that it got, and it would get none if it counted as without cache.
 */
export function expectedShares(uses: ReadonlyArray<CacheUse | undefined>): CacheShares[] {
  const sum = (part: keyof CacheUse) => uses.reduce((total, use) => total + (use?.[part] ?? 0), 0)
  const all = sum('promptTokens')
  if (all <= 0) return uses.map(() => NO_CACHE)
  const usual = { readTokens: sum('readTokens') / all, writtenTokens: sum('writtenTokens') / all }
  const shareOf = (use: CacheUse | undefined, part: keyof typeof usual) => {
    const tokens = (use?.[part] ?? 0) + usual[part] * TRUSTED_TOKENS
    return Math.min(SHARE_MAX, tokens / ((use?.promptTokens ?? 0) + TRUSTED_TOKENS))
  }
  return uses.map((use) => {
    const read = shareOf(use, 'readTokens')
    return { read, written: Math.min(1 - read, shareOf(use, 'writtenTokens')) }
  })
}

/** Our expected price of a prompt token, pico-USD: what is read from the cache, and written to it, at its own price. */
export function likelyPromptPrice({ cost }: Pick<Offer, 'cost'>, { read, written }: CacheShares): number {
  const prompt = Number(cost.prompt)
  if (read === 0 && written === 0) return prompt
  const { cacheRead = cost.prompt, cacheWrite = cost.prompt } = cost
  return prompt * (1 - read - written) + Number(cacheRead) * read + Number(cacheWrite) * written
}

/** Our expected price of an offer, three prompt tokens to one completion token; never 0, so that it can be a divisor. */
export const likelyPrice = (offer: Pick<Offer, 'cost'>, shares: CacheShares): number =>
  likelyPromptPrice(offer, shares) * 3 + Number(offer.cost.completion) + 1
