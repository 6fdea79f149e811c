import { approximateAmount } from '../../lib/format.ts'

/** How much of a budget is spent, as a bar beside the amounts. */
export function BudgetBar({ spent, limit }: { spent: string; limit: string }) {
  const whole = approximateAmount(limit)
  const share = whole > 0 ? Math.min(1, approximateAmount(spent) / whole) : 1
  return (
    <div aria-hidden="true" className="h-2 w-full max-w-md overflow-hidden rounded-full bg-sunken">
      <div className={`h-full ${colourOf(share)}`} style={{ width: `${share * 100}%` }} />
    </div>
  )
}

const NEARLY_SPENT = 0.9

function colourOf(share: number): string {
  if (share >= 1) return 'bg-bad-fill'
  return share >= NEARLY_SPENT ? 'bg-warn' : 'bg-accent-fill'
}
