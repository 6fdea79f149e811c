import { ApiError } from '../../core/kernel/errors.ts'
import { type PicoUsd, parseUsd, picoUsd } from '../../core/kernel/money.ts'
import { type Fields, readString } from '../account/read-body.ts'

const AMOUNT_MAX = parseUsd('1000000.00')
const REFERENCE = /^[\x21-\x7e]{1,100}$/

/** Reads an amount of USD as a decimal string, up to a million. Throws ApiError `invalid_request`, as all here do. */
export function readAmount(fields: Fields, sign: 'positive' | 'signed'): PicoUsd {
  const amount = parsed(fields.amount_usd)
  const isIn = amount !== null && amount !== 0n && amount <= AMOUNT_MAX && amount >= -AMOUNT_MAX
  if (!isIn || (sign === 'positive' && amount < 0n)) {
    const example = sign === 'positive' ? '"5.00"' : '"5.00" or "-5.00"'
    throw invalid('amount_usd', `\`amount_usd\` takes a decimal string such as ${example}, not zero.`)
  }
  return picoUsd(amount)
}

function parsed(value: unknown): bigint | null {
  if (typeof value !== 'string') return null
  try {
    return parseUsd(value)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** Why something is done, for whoever reads the books. */
export const readReason = (fields: Fields): string => readString(fields, 'reason', 1, 500).trim()

/** What the posting stands for; the same reference posts once. Null where it is absent. */
export function readReference(fields: Fields): string | null {
  const { reference } = fields
  if (reference === undefined) return null
  if (typeof reference !== 'string' || !REFERENCE.test(reference))
    throw invalid('reference', '`reference` takes 1 to 100 printable characters without spaces.')
  return reference
}

const invalid = (param: string, message: string): ApiError =>
  new ApiError('invalid_request', message, { param })
