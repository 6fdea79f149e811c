import type { RateTexts } from '../calls/usage.ts'
import { formatRate, greaterOf, type PicoUsdPerToken, parseRate, picoUsdPerToken } from '../kernel/money.ts'
import { oncePer } from '../kernel/once-per.ts'
import type { PricedMedia, TokenRates, UseKind } from './catalog.ts'

/** Every kind of price, with its name in documents and in the API. Those of the prompt's parts are optional. */
export const PRICE_NAMES = {
  prompt: 'prompt',
  completion: 'completion',
  promptAudio: 'prompt_audio',
  promptImage: 'prompt_image',
  cacheRead: 'cache_read',
  cacheWrite: 'cache_write',
  cacheWriteHour: 'cache_write_hour',
  units: 'units',
  webSearch: 'web_search',
  codeExecution: 'code_execution',
} as const satisfies Record<keyof TokenRates, string>

export type PriceName = (typeof PRICE_NAMES)[keyof TokenRates]
export type OptionalPriceName = Exclude<PriceName, 'prompt' | 'completion'>

/** Prices in USD per million tokens, as decimal strings. */
export type PriceTexts = { prompt: string; completion: string } & { [Name in OptionalPriceName]?: string }

export const PRICE_KINDS = Object.keys(PRICE_NAMES) as Array<keyof TokenRates>
const PART_KINDS = PRICE_KINDS.filter((kind) => kind !== 'prompt' && kind !== 'completion')

/** Kinds of input that may have a separate price, with the field of their rate. */
const MEDIA_RATES = { audio: 'promptAudio', image: 'promptImage' } as const

export const PRICED_MEDIA: readonly PricedMedia[] = ['audio', 'image']

export const CACHE_KINDS = ['cacheRead', 'cacheWrite', 'cacheWriteHour'] as const

export const USE_KINDS: readonly UseKind[] = ['webSearch', 'codeExecution']

/** Applies a function to every price of a set of rates; absent prices stay absent. */
export function mapRates(
  rates: TokenRates,
  change: (price: bigint, kind: keyof TokenRates) => bigint,
): TokenRates {
  const entries = Object.entries(rates) as Array<[keyof TokenRates, PicoUsdPerToken | undefined]>
  const changed = entries.flatMap(([kind, price]) =>
    price === undefined ? [] : [[kind, picoUsdPerToken(change(price, kind))] as const],
  )
  return Object.fromEntries(changed) as unknown as TokenRates
}

/** Below list prices; rates are never closer to them. Source: specification 1.5. */
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

/** The price of a token of the prompt's media: its own, or that of the prompt. */
export const mediaRate = (rates: TokenRates, media: PricedMedia): PicoUsdPerToken =>
  rates[MEDIA_RATES[media]] ?? rates.prompt

/** The price of a kind of usage, or its default. */
export function rateOf(rates: TokenRates, kind: keyof TokenRates): PicoUsdPerToken {
  const own = rates[kind]
  if (own !== undefined) return own
  if (kind === 'cacheWriteHour') return rateOf(rates, 'cacheWrite')
  return isPerToken(kind) ? rates.prompt : picoUsdPerToken(0n)
}

/** Whether tokens without a price of this kind have that of the prompt; other kinds are free without a price. */
export const isPerToken = (kind: keyof TokenRates): boolean =>
  kind !== 'units' && kind !== 'webSearch' && kind !== 'codeExecution'

/** The rates without those of the prompt cache, whose tokens then count as ordinary prompt tokens. */
export const withoutCache = oncePer((rates: TokenRates): TokenRates => {
  if (CACHE_KINDS.every((kind) => rates[kind] === undefined)) return rates
  const { cacheRead: _read, cacheWrite: _write, cacheWriteHour: _hour, ...others } = rates
  return others
})

/** The rates without those that only some calls are charged by: of uses, and of an hour in the prompt cache. */
export const withoutExtras = oncePer((rates: TokenRates): TokenRates => {
  const { webSearch: _search, codeExecution: _code, cacheWriteHour: _hour, ...others } = rates
  return others
})

/** The highest price of a prompt token other than audio and image. */
export const dearestPromptRate = (rates: TokenRates): bigint =>
  CACHE_KINDS.reduce<bigint>((most, kind) => greaterOf(most, rateOf(rates, kind)), rates.prompt)

/** Serialized rates: a call's job is JSON, which has no 64-bit integers. */
export const rateTexts = oncePer(
  (rates: TokenRates) =>
    Object.fromEntries(
      Object.entries(rates).map(([kind, price]) => [kind, String(price)]),
    ) as unknown as RateTexts,
)

/** Unrolled by kind, because it runs once a call. */
export function readRates(texts: RateTexts): TokenRates {
  const rates: TokenRates = { prompt: readRate(texts.prompt), completion: readRate(texts.completion) }
  for (const kind of PART_KINDS) {
    const text = texts[kind]
    if (text !== undefined) rates[kind] = readRate(text)
  }
  return rates
}

const readRate = (text: string): PicoUsdPerToken => picoUsdPerToken(BigInt(text))

/** The prices of a document. */
export const parsePrices = (prices: PriceTexts): TokenRates =>
  pricesOf((kind) => {
    const price = prices[PRICE_NAMES[kind]]
    return [kind, price && parseRate(price)]
  })

/** Rates as prices, named as in the API. */
export const formatRates = (rates: TokenRates): PriceTexts =>
  pricesOf((kind) => [PRICE_NAMES[kind], rates[kind] === undefined ? undefined : formatRate(rates[kind])])

/** Prices of every kind under its name; absent prices stay absent. */
function pricesOf<Prices>(entryOf: (kind: keyof TokenRates) => readonly [string, unknown]): Prices {
  const entries = PRICE_KINDS.map(entryOf).filter(([, price]) => price !== undefined)
  return Object.fromEntries(entries) as Prices
}
