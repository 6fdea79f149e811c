import { parseCursor, parseMoment } from '../billing/usage-query.ts'
import { hasControlCharacters, isEmailShaped, isPlainEmail, normalizeEmail } from '../kernel/email-address.ts'
import { parseUsd, plainDecimal } from '../kernel/money.ts'

const AMOUNT_MAX = parseUsd('1000000.00')
const USD_DECIMALS = 12

/** Whether a text is a decimal amount within a million, and not zero. */
function isAmount(text: string, isSigned: boolean): boolean {
  try {
    const amountPico = parseUsd(text)
    const size = isSigned && amountPico < 0n ? -amountPico : amountPico
    return size > 0n && size <= AMOUNT_MAX
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

function isUsd(text: string): boolean {
  const decimal = plainDecimal(text, USD_DECIMALS)
  return decimal !== null && parseUsd(decimal) <= AMOUNT_MAX
}

/** The formats that schemas name: whether a text is of the format. */
export const SCHEMA_FORMATS = {
  line: (text: string) => !hasControlCharacters(text),
  moment: (text: string) => parseMoment(text) !== null,
  cursor: (text: string) => parseCursor(text) !== null,
  email: (text: string) => isEmailShaped(normalizeEmail(text)),
  /** Without quotes, and with nothing in it that is not shown. */
  'new-email': (text: string) => isPlainEmail(normalizeEmail(text)),
  usd: isUsd,
  'positive-amount': (text: string) => isAmount(text, false),
  'signed-amount': (text: string) => isAmount(text, true),
}
