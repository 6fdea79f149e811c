import { useState } from 'react'
import type { ModelDetails } from '../../../src/core/api/models.ts'
import { ChartFigure } from '../../components/chart/chart-figure.tsx'
import { ChoiceField } from '../../components/form/fields.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { formatDate, formatDay, formatShortDay } from '../../lib/format.ts'
import type { CatalogModel } from '../../lib/models/model-catalog.ts'
import {
  HISTORY_MEASURES,
  type HistoryMeasure,
  historyText,
  MEASURES,
} from '../../lib/models/model-history.ts'
import { unitPriceText, unitPriceTitle } from '../../lib/models/unit-prices.ts'

/** How fast and how reliable a model was on each day of the measured period. */
export function ModelPerformance({ days }: { days: ModelDetails['days'] }) {
  const [measure, setMeasure] = useState<HistoryMeasure>('latency')
  const { caption, read, format } = MEASURES[measure]
  const isMeasured = days.some((day) => HISTORY_MEASURES.some((one) => MEASURES[one].read(day) !== null))
  return (
    <Panel title="Performance" padded>
      {isMeasured ? (
        <>
          <ChoiceField
            label="Chart"
            value={measure}
            options={HISTORY_MEASURES.map((value) => ({ value, name: MEASURES[value].name }))}
            onChange={(value) => setMeasure(value as HistoryMeasure)}
          />
          <ChartFigure
            caption={`${caption}, UTC.`}
            chart={{
              kind: 'lines',
              points: days.map((day) => ({
                at: day.day,
                value: read(day),
                text: `${formatDay(day.day)}: ${historyText(measure, day)}`,
              })),
              formatValue: format,
              formatLabel: formatShortDay,
            }}
            table={
              <DataTable
                caption="Performance by day (UTC)"
                rows={days}
                rowKey={({ day }) => day}
                empty="No days."
                columns={{
                  Day: ({ day }) => formatDay(day),
                  Latency: (day) => historyText('latency', day),
                  Throughput: (day) => historyText('throughput', day),
                  Uptime: (day) => historyText('uptime', day),
                }}
                numeric={['Latency', 'Throughput', 'Uptime']}
              />
            }
          />
        </>
      ) : (
        <p className="text-muted">
          Latency, throughput and uptime appear here once ten requests of a day have named this model.
        </p>
      )}
    </Panel>
  )
}

type Price = NonNullable<ModelDetails['prices']>[number]

/** Since when the model has its price, and what it cost before. */
export const PriceHistory = (props: { model: Pick<CatalogModel, 'unit'>; prices: readonly Price[] }) => {
  const { unit } = props.model
  return (
    <Panel title="Price history">
      <DataTable
        caption="Prices of the model, newest first"
        rows={props.prices}
        rowKey={({ since }) => since}
        empty="No prices are recorded yet."
        columns={{
          Since: ({ since }) => <span className="font-normal">{formatDate(since)}</span>,
          'Input per million tokens': ({ prompt }) => `$${prompt}`,
          'Output per million tokens': ({ completion }) => `$${completion}`,
          ...(unit !== undefined && {
            [unitPriceTitle(unit)]: ({ units }: Price) => (units === null ? '–' : unitPriceText(unit, units)),
          }),
        }}
        numeric={['Input per million tokens', 'Output per million tokens']}
      />
    </Panel>
  )
}
