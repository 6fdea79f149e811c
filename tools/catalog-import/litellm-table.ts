import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One of litellm's entries: a model at a provider, or one of its prices. */
export type LitellmRow = Record<string, unknown> & { litellm_provider?: string; mode?: string }

export type LitellmTable = ReturnType<typeof openLitellmTable>

/** litellm's table as of a day, by its own names. */
export function openLitellmTable(folder: string, day: string) {
  const rows = JSON.parse(
    readFileSync(join(folder, 'model_prices_and_context_window_backup.json'), 'utf8'),
  ) as Record<string, LitellmRow>
  return {
    /** Throws on a name that is not listed, or switched off by that day. */
    row(key: string): LitellmRow {
      const row = rows[key]
      if (!row) throw new Error(`litellm lists no ${key}`)
      if (typeof row.deprecation_date === 'string' && row.deprecation_date <= day)
        throw new Error(`${key} is gone`)
      return row
    },
  }
}

/** Without the name of litellm's provider. */
export function upstreamName(key: string, { litellm_provider: provider }: LitellmRow): string {
  return key.startsWith(`${provider}/`) ? key.slice(provider!.length + 1) : key
}

/** USD per million of what a price is for, as a decimal string. */
export const perMillion = (price: unknown): string => decimal(amount(price) * 1_000_000)

/** A price in USD. */
export function amount(price: unknown): number {
  if (typeof price !== 'number') throw new Error(`no price: ${price}`)
  return price
}

/** Without the noise of binary fractions. */
const decimal = (value: number): string => String(Number(value.toPrecision(9)))
