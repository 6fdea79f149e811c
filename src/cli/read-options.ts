import { LIMIT_RESETS, type LimitReset } from '../core/billing/allowance-period.ts'
import { type PicoUsd, parseUsd } from '../core/kernel/money.ts'
import { UsageError } from './run-command.ts'

/** An amount in USD of 0 or more, `5` or `5.00`. Throws UsageError. */
export function readAmount(name: string, text: string): PicoUsd {
  const amount = readSignedAmount(name, text)
  if (amount < 0n) throw notAnAmount(name)
  return amount
}

/** An amount in USD that may be negative, `-1.00`. Throws UsageError. */
export function readSignedAmount(name: string, text: string): PicoUsd {
  try {
    return parseUsd(text.replace(/^\$/, ''))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw notAnAmount(name)
  }
}

const notAnAmount = (name: string): UsageError =>
  new UsageError(`${name} must be an amount in USD such as 5.00, with at most 12 decimals`)

/** A whole number of 1 or more, or null where it is not given. Throws UsageError. */
export function readCount(name: string, text: string | undefined): number | null {
  if (text === undefined) return null
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1 || count > 2 ** 31 - 1) {
    throw new UsageError(`${name} must be a whole number of 1 or more`)
  }
  return count
}

/** A moment to come, as an ISO date or date and time, or null where it is not given. Throws UsageError. */
export function readExpiry(name: string, text: string | undefined, nowMs: number): Date | null {
  if (text === undefined) return null
  const expiry = new Date(text)
  if (Number.isNaN(expiry.getTime()))
    throw new UsageError(`${name} must be a date such as 2027-01-31 or 2027-01-31T12:00:00Z`)
  if (expiry.getTime() <= nowMs) throw new UsageError(`${name} lies in the past`)
  return expiry
}

/** How often a spending limit starts anew. Throws UsageError. */
export function readLimitReset(name: string, text: string | undefined): LimitReset {
  const reset = LIMIT_RESETS.find((known) => known === (text ?? 'none'))
  if (!reset) throw new UsageError(`${name} must be one of ${LIMIT_RESETS.join(', ')}`)
  return reset
}
