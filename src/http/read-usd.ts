import { type PicoUsd, parseUsd, plainDecimal } from '../core/kernel/money.ts'

const USD_DECIMALS = 12

/** An amount that fits the schema of `usd()`; null where it is null or absent. */
export function readUsd(amount: string | number | null | undefined): PicoUsd | null {
  const text = plainDecimal(amount ?? null, USD_DECIMALS)
  return text === null ? null : parseUsd(text)
}
