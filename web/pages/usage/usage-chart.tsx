import { useState } from 'react'
import type { UsageFiguresView, UsageSeriesView } from '../../../src/core/api/usage.ts'
import { ChartFigure, ChartKey } from '../../components/chart/chart-figure.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { PagedRows } from '../../components/table/page-nav.tsx'
import { Money } from '../../components/text/money.tsx'
import {
  axisAmount,
  formatAmount,
  formatCount,
  formatDuration,
  formatTokens,
  plural,
} from '../../lib/format.ts'
import {
  formatShortStart,
  formatStart,
  type Measure,
  measured,
  OTHERS,
  type StackedBucket,
  stackUsage,
} from '../../lib/usage-view.ts'

/** For bars and for their key, in this order. */
const COLOURS = [
  'fill-series-1 bg-series-1',
  'fill-series-2 bg-series-2',
  'fill-series-3 bg-series-3',
  'fill-series-4 bg-series-4',
  'fill-series-5 bg-series-5',
  'fill-series-6 bg-series-6',
  'fill-series-7 bg-series-7',
  'fill-series-8 bg-series-8',
]
const colourOf = (index: number): string => COLOURS[index] ?? COLOURS.at(-1)!

const CAPTIONS: Record<Measure, string> = {
  cost: 'Cost',
  tokens: 'Tokens',
  requests: 'Requests',
  latency: 'Median time to first token',
}

/** Usage over time, stacked by model or key. Latency is the median of all requests, in one series. */
export function UsageChart(props: { view: UsageSeriesView; measure: Measure; stale: boolean }) {
  const { view, measure, stale } = props
  const { interval, time_zone: zone } = view
  const [page, setPage] = useState(1)
  const { series, buckets } = stackUsage(view, measure)
  const names = new Map(view.groups.map(({ group, name }) => [group, name || group]))
  const nameOf = (group: string) => (group === OTHERS ? 'Other' : (names.get(group) ?? group))
  const start = ({ at }: StackedBucket) => formatStart(at, interval, zone)
  const isStacked = measure !== 'latency'
  return (
    <ChartFigure
      stale={stale}
      caption={`${CAPTIONS[measure]} by ${interval}.`}
      chart={{
        columns: buckets.map((bucket) => ({
          at: bucket.at,
          value: bucket.figures ? measured(bucket.figures, measure) : 0,
          text: `${start(bucket)}: ${summary(bucket, measure, nameOf)}`,
          ...(isStacked && {
            parts: bucket.parts.map(({ value }, index) => ({ value, fill: colourOf(index) })),
          }),
        })),
        idle: 'Hover over a bar for details.',
        formatValue: axisFormat(measure),
        formatLabel: (at) => formatShortStart(at, interval, zone),
        labelWidth: 64,
        isWhole: measure === 'requests',
      }}
      table={
        <PagedRows
          of="the chart"
          rows={buckets.filter(({ figures }) => figures !== null).reverse()}
          page={page}
          onPage={setPage}
        >
          {(shown) => (
            <DataTable
              caption={`Usage by ${interval} (${zone})`}
              rows={shown}
              rowKey={({ at }) => at}
              columns={{
                Time: start,
                Requests: ({ figures }) => formatCount(figures?.calls ?? 0),
                Tokens: ({ figures }) => formatCount(figures?.total_tokens ?? 0),
                TTFT: ({ figures }) => formatDuration(figures?.first_token_ms ?? null),
                Cost: ({ figures }) => <Money usd={figures?.cost_usd} />,
              }}
              numeric={['Requests', 'Tokens', 'TTFT', 'Cost']}
              empty="No requests in this period."
            />
          )}
        </PagedRows>
      }
    >
      {isStacked && series.length > 1 && (
        <div className="row gap-x-4 gap-y-1 text-sm text-soft">
          {series.map((group, index) => (
            <ChartKey key={group} colour={colourOf(index)}>
              {nameOf(group)}
            </ChartKey>
          ))}
        </div>
      )}
    </ChartFigure>
  )
}

const PARTS_TOLD = 3

function summary(
  { figures, parts }: StackedBucket,
  measure: Measure,
  nameOf: (group: string) => string,
): string {
  if (figures === null) return 'no requests'
  const total = `${figureText(figures, measure)}, ${plural(figures.calls, 'request')}`
  if (measure === 'latency') return total
  const largest = parts
    .filter(({ value }) => value > 0)
    .toSorted((a, b) => b.value - a.value)
    .slice(0, PARTS_TOLD)
    .map(({ group, value }) => `${nameOf(group)} ${axisFormat(measure)(value)}`)
  return parts.length > 1 ? `${total} (${largest.join(', ')})` : total
}

function figureText(figures: UsageFiguresView, measure: Measure): string {
  switch (measure) {
    case 'cost':
      return formatAmount(figures.cost_usd)
    case 'tokens':
      return plural(figures.total_tokens, 'token')
    case 'requests':
      return `${plural(figures.failed_calls, 'failure')}`
    case 'latency':
      return formatDuration(figures.first_token_ms)
  }
}

function axisFormat(measure: Measure): (value: number, step?: number) => string {
  switch (measure) {
    case 'cost':
      return axisAmount
    case 'tokens':
      return (value) => formatTokens(Math.round(value))
    case 'requests':
      return formatCount
    case 'latency':
      return formatDuration
  }
}
