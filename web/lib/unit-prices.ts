import { formatAmount } from './format.ts'

/**
 * Prices of what is not counted in tokens. The gateway has them per million units; people think of an image, of a minute
 * of a recording. All amounts are exact.
 */

interface Unit {
  one: string
  many: string
  /** As a row of a price list. */
  title: string
  /** What a price is told for, and how many units that is. */
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

/** The amount in USD that goes with the title. `rate`: USD per million units. */
export const unitPrice = (unit: string, rate: string): string => priceOf(unitOf(unit).count, rate)

/** `$0.006 / minute`. */
export const unitPriceText = (unit: string, rate: string): string =>
  `${formatAmount(unitPrice(unit, rate))} / ${unitOf(unit).per}`

/** What a call used, as a row of its cost: `Images`. */
export const unitTitle = (unit: string): string => {
  const { many } = unitOf(unit)
  return many.charAt(0).toUpperCase() + many.slice(1)
}

/** `images`, as in "per million images". */
export const unitName = (unit: string): string => unitOf(unit).many

/** `1 image`, `2,400 characters`. */
export const unitCount = (unit: string, count: number): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? unitOf(unit).one : unitOf(unit).many}`

export interface ImagePrice {
  /** Empty: the model has no qualities. */
  quality: string
  /** `1024 × 1024`. */
  size: string
  /** Of one image, in USD; without what its prompt costs. */
  usd: string
}

/** The images that a model makes with the price of each, the one first that it makes when nothing is asked. */
export const imagePrices = (units: Readonly<Record<string, number>>, rate: string): ImagePrice[] =>
  Object.entries(units).map(([key, each]) => {
    const [quality = '', size = ''] = key.split('/')
    return { quality, size: size.replace('x', ' × '), usd: priceOf(BigInt(each), rate) }
  })

const RATE_DECIMALS = 6
const PRICE_DECIMALS = 2 * RATE_DECIMALS

/** The price of so many units, from that of a million, as a decimal string with at least two decimals. */
function priceOf(count: bigint, rate: string): string {
  const match = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(rate)
  if (!match) throw new RangeError(`not a rate: ${rate}`)
  const [, sign = '', whole = '', decimals = ''] = match
  const digits = String(BigInt(whole + decimals.padEnd(RATE_DECIMALS, '0')) * count)
  const padded = digits.padStart(PRICE_DECIMALS + 1, '0')
  const fraction = padded.slice(-PRICE_DECIMALS).replace(/0+$/, '').padEnd(2, '0')
  return `${sign}${padded.slice(0, -PRICE_DECIMALS)}.${fraction}`
}
