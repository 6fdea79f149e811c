import { amountParts, formatAmount, formatChange } from '../lib/amounts.ts'

/**
 * An exact amount. What follows the cents is set back, not cut off: the figure on screen is the one in the ledger.
 * `signed` shows a change of a balance, with its plus.
 */
export function Money({ usd, signed = false }: { usd: string; signed?: boolean }) {
  const { rest } = amountParts(usd)
  const text = signed ? formatChange(usd) : formatAmount(usd)
  return (
    <span className="money">
      {rest === '' ? text : text.slice(0, -rest.length)}
      {rest !== '' && <span className="money-rest">{rest}</span>}
    </span>
  )
}
