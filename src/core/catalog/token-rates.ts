import type { RateTexts } from '../calls/call-job.ts'
import { formatRate, type PicoUsdPerToken, picoUsdPerToken } from '../kernel/money.ts'
import { oncePer } from '../kernel/once-per.ts'
import type { PricedMedia, TokenRates } from './catalog.ts'

/** Kinds of input that may have a separate price, with the field of their rate. */
const MEDIA_RATES = { audio: 'promptAudio', image: 'promptImage' } as const

export const PRICED_MEDIA: readonly PricedMedia[] = ['audio', 'image']

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

/** The price of a token of the prompt's media: its own, or that of the prompt. */
export const mediaRate = (rates: TokenRates, media: PricedMedia): PicoUsdPerToken =>
  rates[MEDIA_RATES[media]] ?? rates.prompt

/** The price of a kind of input, or its default. */
export const rateOf = (rates: TokenRates, kind: keyof TokenRates): PicoUsdPerToken =>
  rates[kind] ?? rates.prompt

/** Rates completed with the media prices of others. */
export const withMediaOf = (rates: TokenRates, { promptAudio, promptImage }: TokenRates): TokenRates => ({
  ...(promptAudio !== undefined && { promptAudio }),
  ...(promptImage !== undefined && { promptImage }),
  ...rates,
})

/** Serialized rates: a call's job is JSON, which has no 64-bit integers. */
export const rateTexts = oncePer(
  (rates: TokenRates) =>
    Object.fromEntries(
      Object.entries(rates).map(([kind, price]) => [kind, String(price)]),
    ) as unknown as RateTexts,
)

export const readRates = ({ prompt, completion, promptAudio, promptImage }: RateTexts): TokenRates => ({
  prompt: readRate(prompt),
  completion: readRate(completion),
  ...(promptAudio !== undefined && { promptAudio: readRate(promptAudio) }),
  ...(promptImage !== undefined && { promptImage: readRate(promptImage) }),
})

const readRate = (text: string): PicoUsdPerToken => picoUsdPerToken(BigInt(text))

/** Rates as decimal strings in USD per million tokens, named as in the API. */
export const formatRates = ({ prompt, completion, promptAudio, promptImage }: TokenRates) => ({
  prompt: formatRate(prompt),
  completion: formatRate(completion),
  ...(promptAudio !== undefined && { prompt_audio: formatRate(promptAudio) }),
  ...(promptImage !== undefined && { prompt_image: formatRate(promptImage) }),
})
