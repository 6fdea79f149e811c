import type { TokenRates } from './catalog.ts'
import { type PicoUsd, picoUsd, picoUsdPerToken } from './money.ts'

/** Tokens of one call as metered. */
export interface Usage {
  promptTokens: number
  completionTokens: number
}

/**
 * The cost of a call, exactly: prompt_tokens × prompt_rate + completion_tokens × completion_rate.
 * Source: specification 1.5; with rates in pico-USD per token the division by 1,000,000 vanishes.
 */
export function costOf(usage: Usage, rate: TokenRates): PicoUsd {
  return picoUsd(BigInt(usage.promptTokens) * rate.prompt + BigInt(usage.completionTokens) * rate.completion)
}

const SMALLEST_DISCOUNT_PERCENT = 5

/**
 * The listed rate: the maker's list rate less a discount, cut down (never up) to six decimals of USD per
 * million tokens. Throws RangeError on a discount under 5 %, which the service promises never to give.
 */
export function listedRate(listPrice: TokenRates, discountPercent: number): TokenRates {
  if (
    !Number.isInteger(discountPercent) ||
    discountPercent < SMALLEST_DISCOUNT_PERCENT ||
    discountPercent > 100
  ) {
    throw new RangeError(`discount must be a whole percentage from 5 to 100, not ${discountPercent}`)
  }
  const less = (price: bigint) => picoUsdPerToken((price * BigInt(100 - discountPercent)) / 100n)
  return { prompt: less(listPrice.prompt), completion: less(listPrice.completion) }
}

/** Usage held to what can be true: whole numbers, 0 or more, and no more than the call allowed. */
export function clampUsage(usage: Usage, bounds: Usage): { usage: Usage; clamped: boolean } {
  const clamp = (value: number, max: number) =>
    Number.isFinite(value) ? Math.min(Math.max(0, Math.trunc(value)), max) : 0
  const promptTokens = clamp(usage.promptTokens, bounds.promptTokens)
  const completionTokens = clamp(usage.completionTokens, bounds.completionTokens)
  const clamped = promptTokens !== usage.promptTokens || completionTokens !== usage.completionTokens
  return { usage: { promptTokens, completionTokens }, clamped }
}
