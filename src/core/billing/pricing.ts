import type { PromptBound, Usage } from '../calls/usage.ts'
import type { TokenRates } from '../catalog/catalog.ts'
import { dearestPromptRate, mediaRate, rateOf } from '../catalog/token-rates.ts'
import { type PicoUsd, picoUsd } from '../kernel/money.ts'

/**
 * The cost of a call, exactly: prompt_tokens × prompt_rate + completion_tokens × completion_rate, where audio, image
 * and cache tokens of the prompt have a rate of their own if the model has one for them, and units and uses of the
 * provider's tools if it has any.
 * Source: specification 1.5; with rates in pico-USD per token the division by 1,000,000 vanishes.
 */
export function costOf(usage: Usage, rate: TokenRates): PicoUsd {
  const audio = BigInt(usage.audioTokens ?? 0)
  const image = BigInt(usage.imageTokens ?? 0)
  const cached = BigInt(usage.cachedTokens ?? 0)
  const written = BigInt(usage.cacheWriteTokens ?? 0)
  const hour = BigInt(usage.cacheWriteHourTokens ?? 0)
  const rest = BigInt(usage.promptTokens) - audio - image - cached - written
  return picoUsd(
    rest * rate.prompt +
      audio * mediaRate(rate, 'audio') +
      image * mediaRate(rate, 'image') +
      cached * rateOf(rate, 'cacheRead') +
      (written - hour) * rateOf(rate, 'cacheWrite') +
      hour * rateOf(rate, 'cacheWriteHour') +
      BigInt(usage.completionTokens) * rate.completion +
      costOfUses(usage, rate),
  )
}

/** The cost of what is not counted in tokens. */
const costOfUses = (
  { units, webSearches, codeExecutions }: Pick<Usage, 'units' | 'webSearches' | 'codeExecutions'>,
  rate: TokenRates,
): bigint =>
  BigInt(units ?? 0) * rateOf(rate, 'units') +
  BigInt(webSearches ?? 0) * rateOf(rate, 'webSearch') +
  BigInt(codeExecutions ?? 0) * rateOf(rate, 'codeExecution')

/**
 * The prompt tokens that an amount covers: those of the bound, and as many more as it pays at the dearest rate. For a prompt
 * that took more than its bound, where the completion left a part of the hold unused.
 */
export function promptTokensCovered(bound: PromptBound, rate: TokenRates, amount: bigint): number {
  const dearest = dearestPromptRate(rate)
  if (dearest === 0n) return Number.MAX_SAFE_INTEGER
  const left = amount - mostPromptCost(bound, rate)
  return left > 0n ? bound.promptTokens + Number(left / dearest) : bound.promptTokens
}

/**
 * The most that a prompt can cost: all of it at the dearest of the prompt and cache rates, its units and uses, and what audio
 * and images may cost beyond that. The bounds of audio and images may together be more than that of the prompt.
 */
export function mostPromptCost(bound: PromptBound, rate: TokenRates): PicoUsd {
  const dearest = dearestPromptRate(rate)
  const beyond = (tokens: number, price: bigint) =>
    price > dearest ? BigInt(tokens) * (price - dearest) : 0n
  return picoUsd(
    BigInt(bound.promptTokens) * dearest +
      costOfUses(bound, rate) +
      beyond(bound.audioTokens, mediaRate(rate, 'audio')) +
      beyond(bound.imageTokens, mediaRate(rate, 'image')),
  )
}
