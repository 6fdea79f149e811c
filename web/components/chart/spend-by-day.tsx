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

interface SpendDay {
  day: string
  calls: number
  cost_usd: string
}

/** Spend by day as a chart and as a table. `spend`: the days with calls, between `first` and `last`. */
export function SpendByDay(props: { spend: readonly SpendDay[]; first: string; last: string }) {
  const { spend, first, last } = props
  const known = new Map(spend.map((row) => [row.day, row]))
  const none = { calls: 0, cost_usd: '0.00' }
  const days = daysBetween(first, last).map((day): SpendDay => known.get(day) ?? { day, ...none })
  return (
    <ChartFigure
      caption="Spend by day."
      chart={{
        points: days.map(({ day, cost_usd: usd, calls }) => ({
          at: day,
          value: approximateAmount(usd),
          text: `${formatDay(day)}: ${formatAmount(usd)}, ${plural(calls, 'call')}`,
        })),
        formatValue: axisAmount,
        formatLabel: formatShortDay,
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
