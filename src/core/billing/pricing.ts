import type { TokenRates } from '../catalog/catalog.ts'
import { mapRates, mediaRate } from '../catalog/token-rates.ts'
import { type PicoUsd, picoUsd } from '../kernel/money.ts'

export interface Usage {
  promptTokens: number
  completionTokens: number
  /** Of the prompt tokens, those of audio and of images; absent: none are known. */
  audioTokens?: number
  imageTokens?: number
}

/**
 * The cost of a call, exactly: prompt_tokens × prompt_rate + completion_tokens × completion_rate, where audio and
 * image tokens of the prompt have a rate of their own if the model has one for them.
 * Source: specification 1.5; with rates in pico-USD per token the division by 1,000,000 vanishes.
 */
export function costOf(usage: Usage, rate: TokenRates): PicoUsd {
  const audio = BigInt(usage.audioTokens ?? 0)
  const image = BigInt(usage.imageTokens ?? 0)
  const rest = BigInt(usage.promptTokens) - audio - image
  return picoUsd(
    rest * rate.prompt +
      audio * mediaRate(rate, 'audio') +
      image * mediaRate(rate, 'image') +
      BigInt(usage.completionTokens) * rate.completion,
  )
}

/**
 * The most that a prompt can cost: all of it at the prompt rate, and what audio and images may cost beyond that.
 * The bounds of audio and images may together be more than that of the prompt.
 */
export function mostPromptCost(bound: PromptBound, rate: TokenRates): PicoUsd {
  const beyond = (tokens: number, price: bigint) =>
    price > rate.prompt ? BigInt(tokens) * (price - rate.prompt) : 0n
  return picoUsd(
    BigInt(bound.promptTokens) * rate.prompt +
      beyond(bound.audioTokens, mediaRate(rate, 'audio')) +
      beyond(bound.imageTokens, mediaRate(rate, 'image')),
  )
}

/** Upper bounds of a prompt's tokens: of all of them, and of those of audio and of images. */
export type PromptBound = Required<Omit<Usage, 'completionTokens'>>

/** Below list prices; rates never give less. Source: specification 1.5. */
export const SMALLEST_DISCOUNT_PERCENT = 5

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
  return mapRates(listPrice, (price) => (price * BigInt(100 - discountPercent)) / 100n)
}
