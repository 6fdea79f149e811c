import type { Generation } from '../../../src/core/api/calls.ts'
import type { PricingFeedEntry } from '../../../src/core/catalog/pricing-feed-view.ts'
import { formatUsd, parseRate } from '../../../src/core/kernel/money.ts'
import { priceOf, unitTitle } from '../models/unit-prices.ts'

/** A part of a call's cost: so many tokens or units at a price per million of them, USD. */
export interface CostLine {
  name: string
  count: number
  rate: string
  usd: string
}

type Rates = NonNullable<Generation['rates']>

/** What a call was charged for; empty where its rates are not shown. Lines of zero tokens are left out. */
export const costLines = ({ usage, rates }: Pick<Generation, 'usage' | 'rates'>): CostLine[] =>
  rates === null
    ? []
    : partsOf(usage, rates)
        .filter(([, count]) => count > 0)
        .map(([name, count, rate]) => ({
          name,
          count,
          rate,
          usd: priceOf(BigInt(count), rate),
        }))

/** Tokens of each kind once, at their own price or that of the prompt. As the gateway computes it: core/billing/pricing.ts. */
function partsOf(
  usage: Generation['usage'],
  rates: Omit<Rates, 'version'>,
): Array<readonly [name: string, count: number, rate: string]> {
  const { audio_tokens: audio = 0, image_tokens: image = 0, cached_tokens: cached = 0 } = usage
  const { cache_write_tokens: written = 0, cache_write_hour_tokens: hour = 0 } = usage
  const writeRate = rates.cache_write ?? rates.prompt
  return [
    ['Input tokens', usage.prompt_tokens - audio - image - cached - written, rates.prompt],
    ['Audio input tokens', audio, rates.prompt_audio ?? rates.prompt],
    ['Image input tokens', image, rates.prompt_image ?? rates.prompt],
    ['Cached input tokens', cached, rates.cache_read ?? rates.prompt],
    ['Cache writes', written - hour, writeRate],
    ['Cache writes for an hour', hour, rates.cache_write_hour ?? writeRate],
    ['Output tokens', usage.completion_tokens, rates.completion],
    ['Web searches', usage.web_searches ?? 0, rates.web_search ?? '0'],
    ['Code executions', usage.code_executions ?? 0, rates.code_execution ?? '0'],
    [unitTitle(usage.unit ?? ''), usage.units ?? 0, rates.units ?? '0'],
  ]
}

/**
 * What the call would have cost at the list price, and the part saved, 0 to 1. Null where it is not known: the price of
 * the model has changed since, or the call was not charged by its tokens alone.
 */
export function savedAgainstList(
  call: Pick<Generation, 'usage' | 'rates' | 'cost_usd' | 'byok'>,
  entry: PricingFeedEntry | undefined,
): { listUsd: string; savedUsd: string; share: number } | null {
  const { usage, rates, byok, cost_usd: costUsd } = call
  if (!rates || !entry || byok || rates.prompt !== entry.prompt || rates.completion !== entry.completion)
    return null
  const sum = (of: Omit<Rates, 'version'>) =>
    partsOf(usage, of).reduce((total, [, count, rate]) => total + BigInt(count) * parseRate(rate), 0n)
  const paid = sum(rates)
  const listed = Object.entries(rates).map(([name, rate]) => [
    name,
    entry[`list_${name}` as keyof PricingFeedEntry] ?? rate,
  ])
  const list = sum(Object.fromEntries(listed) as Rates)
  if (list <= paid || formatUsd(paid) !== costUsd) return null
  return {
    listUsd: formatUsd(list),
    savedUsd: formatUsd(list - paid),
    share: Number(list - paid) / Number(list),
  }
}
