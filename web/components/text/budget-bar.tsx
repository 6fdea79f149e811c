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

/** A value as its share of the greatest in its row; the figure is beside it. */
export const CellBar = ({ share }: { share: number }) => (
  <span
    aria-hidden="true"
    className="block h-1 max-w-32 rounded-full bg-accent-fill"
    style={{ width: `${share * 100}%` }}
  />
)

const NEARLY_SPENT = 0.9

function colourOf(share: number): string {
  if (share >= 1) return 'bg-bad-fill'
  return share >= NEARLY_SPENT ? 'bg-warn' : 'bg-accent-fill'
}
