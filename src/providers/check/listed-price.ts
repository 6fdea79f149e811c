import type { Offer } from '../../core/catalog/catalog.ts'
import { isObject } from '../../core/json/json-object.ts'
import { formatRate, type PicoUsdPerToken, picoUsdPerToken } from '../../core/kernel/money.ts'
import { readListedModels } from '../listings/read-listing.ts'
import type { FeatureFinding } from './check-provider.ts'

/** How lists of models state prices of prompt and completion, and their pico-USD a token. */
const FORMS = [
  // OpenRouter and others after it: USD a token, as texts.
  { prompt: 'prompt', completion: 'completion', pico: 1e12 },
  // Together: USD a million tokens.
  { prompt: 'input', completion: 'output', pico: 1e6 },
  // DeepInfra, in `metadata`.
  { prompt: 'input_tokens', completion: 'output_tokens', pico: 1e6 },
] as const

interface Price {
  prompt: PicoUsdPerToken
  completion: PicoUsdPerToken
}

/** Compares the cost of an offer in the catalog with the provider's own list, where that states prices. */
export async function checkListedPrice(offer: Offer, key: string | undefined): Promise<FeatureFinding> {
  const found = await listedPrice(offer, key).catch((error: Error) => error.message)
  if (typeof found === 'string') return { feature: 'prices', result: 'left out', found }
  const { prompt, completion } = offer.cost
  const isSame = found.prompt === prompt && found.completion === completion
  const text = (price: Price) => `${formatRate(price.prompt)} / ${formatRate(price.completion)}`
  return {
    feature: 'prices',
    result: isSame ? 'ok' : 'differs',
    found: isSame
      ? `${text(found)} USD per million tokens, as its list says`
      : `its list says ${text(found)} USD per million tokens, the catalog ${text({ prompt, completion })}`,
  }
}

/** The price in the list, or why there is none. */
async function listedPrice(
  { provider, upstreamModel }: Offer,
  key: string | undefined,
): Promise<Price | string> {
  if (provider.credentials) return 'it has no list that its credentials read'
  const entry = (await readListedModels(provider, key)).find((model) => model.id === upstreamModel)
  if (!entry) return 'its list does not have the model'
  const metadata = isObject(entry.metadata) ? entry.metadata : {}
  const pricing = [entry.pricing, metadata.pricing].find(isObject)
  for (const { pico, ...names } of pricing ? FORMS : []) {
    const prices = [pricing![names.prompt], pricing![names.completion]].map((price) =>
      price === undefined || price === '' ? Number.NaN : Math.round(Number(price) * pico),
    )
    if (prices.every((price) => Number.isSafeInteger(price) && price >= 0)) {
      const [prompt, completion] = prices.map((price) => picoUsdPerToken(BigInt(price)))
      return { prompt: prompt!, completion: completion! }
    }
  }
  return 'its list states no prices'
}
