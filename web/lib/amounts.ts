/** An amount in parts, so that the eye finds the cents and nothing of the rest is lost. */
export interface AmountParts {
  negative: boolean
  /** With thousands separators: `1,234`. */
  whole: string
  /** Exactly two digits. */
  cents: string
  /** What follows the cents, exactly as the gateway sent it; often empty. */
  rest: string
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/

/** Takes a decimal string of USD apart without rounding. Throws RangeError on anything else. */
export function amountParts(usd: string): AmountParts {
  const match = DECIMAL.exec(usd)
  if (!match) throw new RangeError(`not an amount: ${usd}`)
  const [, sign, whole = '0', decimals = ''] = match
  const fraction = decimals.replace(/0+$/, '').padEnd(2, '0')
  return {
    negative: sign === '-',
    whole: whole.replace(/^0+(?=\d)/, '').replace(/\B(?=(\d{3})+$)/g, ','),
    cents: fraction.slice(0, 2),
    rest: fraction.slice(2),
  }
}

/** The exact amount as text: `$1,234.50`, `−$0.0000123`. */
export function formatAmount(usd: string): string {
  const { negative, whole, cents, rest } = amountParts(usd)
  return `${negative ? '−' : ''}$${whole}.${cents}${rest}`
}

/** The same amount with the sign it changes a balance by: `+$5.00`, `−$0.12`. */
export function formatChange(usd: string): string {
  const text = formatAmount(usd)
  return text.startsWith('−') ? text : `+${text}`
}

/** For drawing only: the height of a bar needs no exactness, an amount in text does. */
export const approximateAmount = (usd: string): number => Number(usd)

/** A price for comparing and sorting. Rates have at most six decimals, far within a double. */
export const rateNumber = (rate: string): number => Number(rate)

/** A short label for a chart's axis: two significant digits, `$0.0012`. */
export function axisAmount(value: number): string {
  if (value === 0) return '$0'
  if (value >= 100) return `$${Math.round(value).toLocaleString('en-US')}`
  const digits = Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(value))))
  return `$${value
    .toFixed(digits)
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')}`
}
