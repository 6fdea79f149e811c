import { lazy, Suspense } from 'react'
import type { UsageView } from '../../src/core/api/usage.ts'
import { daysBetween, formatDay } from '../lib/dates.ts'
import { formatCount } from '../lib/figures.ts'
import type { DayOfSpend } from './bar-chart.tsx'
import { DataTable } from './data-table.tsx'
import { Money } from './money.tsx'

// Drawing needs more code than all the rest of the page; the page does not wait for it.
const BarChart = lazy(async () => ({ default: (await import('./bar-chart.tsx')).BarChart }))

const DAY_MS = 86_400_000

/** Spend by day as a drawing, with the same figures as a table for who reads or listens. */
export function SpendByDay({ usage }: { usage: UsageView }) {
  const days = everyDay(usage)
  const used = days.filter(({ calls }) => calls > 0).reverse()
  return (
    <figure className="stack-small">
      <figcaption className="visually-hidden">
        Spend by day. The same figures follow as a table under “Show as a table”.
      </figcaption>
      <Suspense fallback={<span className="skeleton skeleton-block" />}>
        <BarChart days={days} />
      </Suspense>
      <details className="disclosure">
        <summary>Show as a table</summary>
        <DataTable
          caption="Spend by day (UTC)"
          rows={used}
          rowKey={({ day }) => day}
          columns={[
            { header: 'Day', title: true, cell: ({ day }) => formatDay(day) },
            { header: 'Calls', numeric: true, cell: ({ calls }) => formatCount(calls) },
            { header: 'Cost', numeric: true, cell: (row) => <Money usd={row.cost_usd} /> },
          ]}
        />
      </details>
    </figure>
  )
}

/** The gateway leaves out days without calls; a chart of time has them. */
function everyDay({ from, to, data }: UsageView): DayOfSpend[] {
  const known = new Map(data.map((row) => [row.day, row]))
  const last = new Date(Date.parse(to) - 1)
  const first = new Date(Math.max(Date.parse(from), last.getTime() - 366 * DAY_MS))
  return daysBetween(first.toISOString().slice(0, 10), last.toISOString().slice(0, 10)).map((day) => {
    const row = known.get(day)
    return { day, cost_usd: row?.cost_usd ?? '0.00', calls: row?.calls ?? 0 }
  })
}
