import type { UsageView } from '../../../src/core/api/usage.ts'
import {
  approximateAmount,
  axisAmount,
  daysBetween,
  formatAmount,
  formatCount,
  formatDay,
  formatShortDay,
  plural,
} from '../../lib/format.ts'
import { DataTable } from '../table/data-table.tsx'
import { Money } from '../text/money.tsx'
import { ChartFigure } from './chart-figure.tsx'

const DAY_MS = 86_400_000

/** Spend by day as a chart and as a table. */
export function SpendByDay({ usage }: { usage: UsageView }) {
  const days = everyDay(usage)
  return (
    <ChartFigure
      caption="Spend by day."
      chart={{
        columns: days.map(({ day, cost_usd: usd, calls }) => ({
          at: day,
          value: approximateAmount(usd),
          text: `${formatDay(day)}: ${formatAmount(usd)}, ${plural(calls, 'call')}`,
        })),
        idle: 'Hover over a bar for details.',
        formatValue: axisAmount,
        formatLabel: formatShortDay,
        labelWidth: 64,
      }}
      table={
        <DataTable
          caption="Spend by day (UTC)"
          rows={days.filter(({ calls }) => calls > 0).reverse()}
          rowKey={({ day }) => day}
          columns={{
            Day: ({ day }) => formatDay(day),
            Calls: ({ calls }) => formatCount(calls),
            Cost: (row) => <Money usd={row.cost_usd} />,
          }}
          numeric={['Calls', 'Cost']}
        />
      }
    />
  )
}

/** The API leaves out days without calls; a chart of time has them. */
function everyDay({ from, to, data }: UsageView) {
  const known = new Map(data.map((row) => [row.day, row]))
  const last = new Date(Date.parse(to) - 1)
  const first = new Date(Math.max(Date.parse(from), last.getTime() - 366 * DAY_MS))
  return daysBetween(first.toISOString().slice(0, 10), last.toISOString().slice(0, 10)).map((day) => {
    const row = known.get(day)
    return { day, cost_usd: row?.cost_usd ?? '0.00', calls: row?.calls ?? 0 }
  })
}
