/**
 * Money is an integer count of pico-USD (10^-12 USD) in a branded bigint. One USD per million tokens is
 * exactly 1,000,000 pico-USD per token, so a listed rate of up to six decimals gives an exact cost and
 * nothing is ever rounded. Decimal strings are parsed and printed at the edges; amounts are never floats.
 */
export type PicoUsd = bigint & { readonly picoUsd: unique symbol }

/** Price of one token in pico-USD. Numerically: USD per million tokens × 1,000,000. */
export type PicoUsdPerToken = bigint & { readonly picoUsdPerToken: unique symbol }

const PICO_DECIMALS = 12
const RATE_DECIMALS = 6
/** The largest JSON number has 309 digits. */
const WHOLE_DIGITS_MAX = 400

/** Marks an integer as an amount. */
export const picoUsd = (value: bigint): PicoUsd => value as PicoUsd

export const ZERO_USD = picoUsd(0n)

/** The smaller and the larger of two amounts. */
export const lesserOf = (one: bigint, other: bigint): PicoUsd => picoUsd(one < other ? one : other)
export const greaterOf = (one: bigint, other: bigint): PicoUsd => picoUsd(one > other ? one : other)

/** Marks an integer as a price per token. */
export const picoUsdPerToken = (value: bigint): PicoUsdPerToken => value as PicoUsdPerToken

/**
 * Parses a decimal string of USD (`"0.50"`, `"-3"`) exactly. Throws RangeError on anything else or on more
 * than 12 decimals.
 */
export function parseUsd(decimal: string): PicoUsd {
  return picoUsd(parseDecimal(decimal, PICO_DECIMALS))
}

/** Prints an amount as the shortest exact decimal string with at least two decimals: `"0.50"`, `"0.000012"`. */
export function formatUsd(amountPico: bigint): string {
  return formatDecimal(amountPico, PICO_DECIMALS, 2)
}

export const formatUsdOrNull = (amountPico: bigint | null): string | null =>
  amountPico === null ? null : formatUsd(amountPico)

/** Parses a listed rate in USD per million tokens. Throws RangeError on more than six decimals. */
export function parseRate(usdPerMillionTokens: string): PicoUsdPerToken {
  return picoUsdPerToken(parseDecimal(usdPerMillionTokens, RATE_DECIMALS))
}

/** Prints a rate in USD per million tokens, at least two decimals. */
export function formatRate(rate: PicoUsdPerToken): string {
  return formatDecimal(rate, RATE_DECIMALS, 2)
}

/**
 * Parses a decimal string into an integer scaled by 10^decimals.
 * Throws RangeError if the text is not a plain decimal or has too many decimals.
 */
export function parseDecimal(text: string, decimals: number): bigint {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text)
  const [, sign, whole = '', fraction = ''] = match ?? []
  if (!match || whole.length > WHOLE_DIGITS_MAX)
    throw new RangeError(`not a decimal number: ${JSON.stringify(text)}`)
  const kept = fraction.replace(/0+$/, '')
  if (kept.length > decimals) throw new RangeError(`more than ${decimals} decimals: ${JSON.stringify(text)}`)
  const scaled = BigInt(whole + kept.padEnd(decimals, '0'))
  return sign ? -scaled : scaled
}

function formatDecimal(value: bigint, decimals: number, minDecimals: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, -decimals)
  const fraction = digits.slice(-decimals).replace(/0+$/, '').padEnd(minDecimals, '0')
  return `${value < 0n ? '-' : ''}${whole}.${fraction}`
}

/**
 * The plain decimal text of a JSON number or decimal string, truncated to `decimals`.
 * JSON numbers may print with an exponent (`1e-7`), which this expands. Returns null unless it is a
 * finite non-negative number of plausible length.
 */
export function plainDecimal(value: unknown, decimals: number): string | null {
  const text = typeof value === 'number' && Number.isFinite(value) ? String(value) : value
  if (typeof text !== 'string') return null
  const match = /^(\d{1,30})(?:\.(\d{1,40}))?(?:e([+-]\d{1,3}))?$/i.exec(text)
  if (!match) return null
  const [, whole = '', fraction = '', exponent = '0'] = match
  const shift = Number(exponent)
  const digits = whole + fraction
  const point = whole.length + shift
  if (point > WHOLE_DIGITS_MAX) return null
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0')
  const cut = Math.max(point, 1)
  const decimalsText = padded.slice(cut, cut + decimals)
  return decimalsText ? `${padded.slice(0, cut)}.${decimalsText}` : padded.slice(0, cut)
}
