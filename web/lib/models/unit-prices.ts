import { formatUsd, parseRate } from '../../../src/core/kernel/money.ts'
import { capitalised, formatAmount } from '../format.ts'

/**
 * Prices per unit other than the token. The gateway has them per million units; they are shown per image or per minute of
 * audio. All amounts are exact.
 */

interface Unit {
  one: string
  many: string
  /** As a row of a price list. */
  title: string
  /** The amount that a price is shown for, and its number of units. */
  per: string
  count: bigint
}

const UNITS: Readonly<Record<string, Unit>> = {
  search: { one: 'search', many: 'searches', title: 'Searches', per: '1,000 searches', count: 1_000n },
  image: { one: 'image', many: 'images', title: 'Images', per: 'image', count: 1n },
  image_token: {
    one: 'image token',
    many: 'image tokens',
    title: 'Image output',
    per: 'million tokens',
    count: 1_000_000n,
  },
  character: {
    one: 'character',
    many: 'characters',
    title: 'Text',
    per: 'million characters',
    count: 1_000_000n,
  },
  second: { one: 'second', many: 'seconds', title: 'Audio', per: 'minute', count: 60n },
}

const unitOf = (unit: string): Unit =>
  UNITS[unit] ?? { one: unit, many: unit, title: 'Units', per: 'million units', count: 1_000_000n }

/** `Audio, per minute`. */
export const unitPriceTitle = (unit: string): string => `${unitOf(unit).title}, per ${unitOf(unit).per}`

/** `minute`, `million characters`: what the price is for. */
export const unitPer = (unit: string): string => unitOf(unit).per

/** The amount in USD that goes with the title. `rate`: USD per million units. */
export const unitPrice = (unit: string, rate: string): string => priceOf(unitOf(unit).count, rate)

/** `$0.006 / minute`. */
export const unitPriceText = (unit: string, rate: string): string =>
  `${formatAmount(unitPrice(unit, rate))} / ${unitOf(unit).per}`

/** What a call used, as a row of its cost: `Images`. */
export const unitTitle = (unit: string): string => capitalised(unitOf(unit).many)

/** `images`, as in "per million images". */
export const unitName = (unit: string): string => unitOf(unit).many

/** `1 image`, `2,400 characters`. */
export const unitCount = (unit: string, count: number): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? unitOf(unit).one : unitOf(unit).many}`

/** The images that a model makes: its qualities, and for each size the price of an image of each. */
export interface ImagePrices {
  /** The cheapest first; the only one is empty where the model has no qualities. */
  qualities: string[]
  /** What is made when nothing is asked. */
  usual: { quality: string; size: string }
  /** As the catalog has them. `usd`: of one image by quality, without what its prompt costs. */
  sizes: Array<{ size: string; usd: Readonly<Record<string, string>> }>
}

/** `rate`: USD per million units. */
export function imagePrices(units: Readonly<Record<string, number>>, rate: string): ImagePrices {
  const qualities = new Map<string, number>()
  const sizes = new Map<string, Record<string, string>>()
  for (const [key, each] of Object.entries(units)) {
    const [quality = '', sides = ''] = key.split('/')
    const size = sides.replace('x', ' × ')
    if (!qualities.has(quality)) qualities.set(quality, each)
    sizes.set(size, { ...sizes.get(size), [quality]: priceOf(BigInt(each), rate) })
  }
  const [[usualQuality = ''] = []] = qualities
  const [[usualSize = ''] = []] = sizes
  return {
    qualities: [...qualities].sort(([, one], [, other]) => one - other).map(([quality]) => quality),
    usual: { quality: usualQuality, size: usualSize },
    sizes: [...sizes].map(([size, usd]) => ({ size, usd })),
  }
}

/** The price of so many units, from that of a million, as a decimal string with at least two decimals. */
export const priceOf = (count: bigint, rate: string): string => formatUsd(count * parseRate(rate))
