import { type PicoUsd, parseUsd, picoUsd, plainDecimal } from '../kernel/money.ts'

/** The offered amounts, USD; any other within the limits is allowed. */
export const TOP_UP_PRESETS_USD = ['5.00', '25.00', '50.00', '100.00'] as const

export const PICO_PER_CENT = 10_000_000_000n

const USD_DECIMALS = 12

export interface TopUpLimits {
  minPico: PicoUsd
  maxPico: PicoUsd
}

export type TopUpAmount =
  | { kind: 'amount'; amountPico: PicoUsd }
  | { kind: 'refused'; reason: 'not_an_amount' | 'below_minimum' | 'above_maximum' | 'fraction_of_a_cent' }

/** Parses the amount of a top-up, a decimal string or JSON number of USD: whole cents, within the limits. */
export function readTopUpAmount(value: unknown, { minPico, maxPico }: TopUpLimits): TopUpAmount {
  const text = plainDecimal(value, USD_DECIMALS + 1)
  if (text === null) return { kind: 'refused', reason: 'not_an_amount' }
  let amountPico: PicoUsd
  try {
    amountPico = parseUsd(text)
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'refused', reason: 'fraction_of_a_cent' }
    throw error
  }
  if (amountPico < minPico) return { kind: 'refused', reason: 'below_minimum' }
  if (amountPico > maxPico) return { kind: 'refused', reason: 'above_maximum' }
  if (amountPico % PICO_PER_CENT !== 0n) return { kind: 'refused', reason: 'fraction_of_a_cent' }
  return { kind: 'amount', amountPico }
}

/** Converts an amount to cents, the unit of card rails. Throws RangeError on a fraction of a cent. */
export function toCents(amountPico: PicoUsd): number {
  if (amountPico % PICO_PER_CENT !== 0n)
    throw new RangeError(`${amountPico} pico-USD is not a whole number of cents`)
  return Number(amountPico / PICO_PER_CENT)
}

/** Converts cents to an amount. Throws RangeError unless they are a whole number of 0 or more. */
export function fromCents(cents: number): PicoUsd {
  if (!Number.isSafeInteger(cents) || cents < 0) throw new RangeError(`not a number of cents: ${cents}`)
  return picoUsd(BigInt(cents) * PICO_PER_CENT)
}
