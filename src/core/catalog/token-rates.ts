import type { RateTexts } from '../calls/call-job.ts'
import { formatRate, type PicoUsdPerToken, picoUsdPerToken } from '../kernel/money.ts'
import type { PricedMedia, TokenRates } from './catalog.ts'

/** Input that may have a price of its own, and the rate of it. */
const MEDIA_RATES = { audio: 'promptAudio', image: 'promptImage' } as const

export const PRICED_MEDIA: readonly PricedMedia[] = ['audio', 'image']

/** Every price of a set of rates changed alike; a price that is absent stays so. */
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

/** What a token of the prompt's media costs: its own price, or that of the prompt. */
export const mediaRate = (rates: TokenRates, media: PricedMedia): PicoUsdPerToken =>
  rates[MEDIA_RATES[media]] ?? rates.prompt

/** What a price of a kind is, also where it has none of its own. */
export const rateOf = (rates: TokenRates, kind: keyof TokenRates): PicoUsdPerToken =>
  rates[kind] ?? rates.prompt

/** Rates with the prices of media that they do not state themselves, from others. */
export const withMediaOf = (rates: TokenRates, { promptAudio, promptImage }: TokenRates): TokenRates => ({
  ...(promptAudio !== undefined && { promptAudio }),
  ...(promptImage !== undefined && { promptImage }),
  ...rates,
})

/** Rates as text, and back: a call's job is JSON, which has no 64-bit integers. */
export const rateTexts = (rates: TokenRates): RateTexts =>
  Object.fromEntries(
    Object.entries(rates).map(([kind, price]) => [kind, String(price)]),
  ) as unknown as RateTexts

export const readRates = (texts: RateTexts): TokenRates =>
  Object.fromEntries(
    Object.entries(texts).map(([kind, price]) => [kind, picoUsdPerToken(BigInt(price))]),
  ) as unknown as TokenRates

/** Rates as decimal strings in USD per million tokens, named as in the API. */
export const formatRates = ({ prompt, completion, promptAudio, promptImage }: TokenRates) => ({
  prompt: formatRate(prompt),
  completion: formatRate(completion),
  ...(promptAudio !== undefined && { prompt_audio: formatRate(promptAudio) }),
  ...(promptImage !== undefined && { prompt_image: formatRate(promptImage) }),
})
