import { type ComponentProps, useState } from 'react'
import type { UsageFiguresView, UsageSeriesView } from '../../../src/core/api/usage.ts'
import { ChartFigure, ChartKey, TableOfChart } from '../../components/chart/chart-figure.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { PagedRows } from '../../components/table/page-nav.tsx'
import { Money } from '../../components/text/money.tsx'
import {
  axisAmount,
  formatAmount,
  formatCount,
  formatDuration,
  formatShare,
  formatTokens,
  plural,
} from '../../lib/format.ts'
import {
  formatShortStart,
  formatStart,
  type Measure,
  measured,
  OTHERS,
  seriesFills,
  stackUsage,
} from '../../lib/usage-view.ts'

/**
 * Usage over time: what failed and how long first tokens took, then cost and tokens by model, key or member. `onPick`: a
 * bucket was chosen, of `failures` or of all. `onGroup`: a series was chosen.
 */
export function UsageCharts(props: {
  view: UsageSeriesView
  stale: boolean
  onPick: (at: string, of: 'all' | 'failures') => void
  onGroup?: (group: string) => void
}) {
  const { view, stale, onPick, onGroup } = props
  const { interval, time_zone: zone } = view
  const { series, buckets } = stackUsage(view, 'cost')
  const tokens = stackUsage(view, 'tokens').buckets
  const colourOf = seriesFills(series)
  const names = new Map(view.groups.map(({ group, name }) => [group, name || group]))
  const nameOf = (group: string) => (group === OTHERS ? 'Other' : (names.get(group) ?? group))
  const start = (at: string) => formatStart(at, interval, zone)
  const common = {
    formatLabel: (at: string) => formatShortStart(at, interval, zone),
    onPick: (at: string) => onPick(at, 'all'),
  }
  const stack = (rows: typeof buckets, measure: Measure, textOf: (figures: UsageFiguresView) => string) =>
    rows.map(({ at, figures, parts }) => ({
      at,
      value: figures ? measured(figures, measure) : 0,
      parts: parts.map(({ group, value }) => ({ name: nameOf(group), value, fill: colourOf(group) })),
      text: `${start(at)}: ${figures ? textOf(figures) : 'no requests'}`,
    }))
  const keys =
    series.length > 1 &&
    series.map((group) =>
      onGroup && group !== OTHERS ? (
        <button
          key={group}
          type="button"
          className="cursor-pointer border-0 bg-transparent p-0 text-soft hover:underline"
          onClick={() => onGroup(group)}
        >
          <ChartKey colour={colourOf(group)}>{nameOf(group)}</ChartKey>
        </button>
      ) : (
        <ChartKey key={group} colour={colourOf(group)}>
          {nameOf(group)}
        </ChartKey>
      ),
    )
  return (
    <>
      <div className="columns gap-x-8 gap-y-6 [--column:24rem]">
        <Chart
          title="Requests and failures"
          stale={stale}
          caption={`Requests and failed requests by ${interval}.`}
          keys={
            <>
              <ChartKey colour="bg-series-8">requests</ChartKey>
              <ChartKey colour="bg-bad-fill">failed</ChartKey>
            </>
          }
          chart={{
            ...common,
            points: buckets.map(({ at, figures }) => ({
              at,
              value: figures?.calls ?? 0,
              errors: figures?.failed_calls ?? 0,
              text: `${start(at)}: ${figures ? failuresText(figures) : 'no requests'}`,
            })),
            formatValue: formatCount,
            isWhole: true,
            onPick: (at) => onPick(at, 'failures'),
          }}
        />
        <Chart
          title="Time to first token"
          stale={stale}
          caption={`Time to first token by ${interval}: 95th percentile and median.`}
          keys={
            <>
              <ChartKey colour="bg-accent-fill">p95</ChartKey>
              <ChartKey colour="bg-series-2">median</ChartKey>
            </>
          }
          chart={{
            ...common,
            kind: 'lines',
            points: buckets.map(({ at, figures }) => {
              const { first_token_ms: median = null, first_token_p95_ms: p95 = null } = figures ?? {}
              const text = `p95 ${formatDuration(p95)}, median ${formatDuration(median)}`
              return { at, value: p95, second: median, text: `${start(at)}: ${text}` }
            }),
            formatValue: formatDuration,
          }}
        />
        <Chart
          title="Cost"
          stale={stale}
          caption={`Cost by ${interval}.`}
          keys={keys}
          chart={{
            ...common,
            points: stack(buckets, 'cost', ({ cost_usd: usd }) => formatAmount(usd)),
            formatValue: axisAmount,
          }}
        />
        <Chart
          title="Tokens"
          stale={stale}
          caption={`Tokens by ${interval}.`}
          keys={keys}
          chart={{
            ...common,
            points: stack(tokens, 'tokens', ({ total_tokens: count }) => plural(count, 'token')),
            formatValue: (value) => formatTokens(Math.round(value)),
          }}
        />
      </div>
      <TableOfChart>
        <BucketTable view={view} start={start} />
      </TableOfChart>
    </>
  )
}

const Chart = ({ title, ...figure }: { title: string } & ComponentProps<typeof ChartFigure>) => (
  <div className="stack min-w-0 content-start gap-2">
    <h3>{title}</h3>
    <ChartFigure {...figure} />
  </div>
)

const failuresText = ({ calls, failed_calls: failed }: UsageFiguresView): string =>
  `${plural(calls, 'request')}, ${formatCount(failed)} failed${failed > 0 ? ` (${formatShare(failed / calls)})` : ''}`

function BucketTable({ view, start }: { view: UsageSeriesView; start: (at: string) => string }) {
  const [page, setPage] = useState(1)
  return (
    <PagedRows of="the charts" rows={view.buckets.toReversed()} page={page} onPage={setPage}>
      {(shown) => (
        <DataTable
          caption={`Usage by ${view.interval} (${view.time_zone})`}
          rows={shown}
          rowKey={({ at }) => at}
          columns={{
            Time: ({ at }) => start(at),
            Requests: ({ calls }) => formatCount(calls),
            Failed: ({ failed_calls: failed }) => formatCount(failed),
            Tokens: ({ total_tokens: tokens }) => formatCount(tokens),
            'TTFT, median': ({ first_token_ms: ms }) => formatDuration(ms),
            'TTFT, p95': ({ first_token_p95_ms: ms }) => formatDuration(ms),
            Cost: ({ cost_usd: usd }) => <Money usd={usd} />,
          }}
          numeric={['Requests', 'Failed', 'Tokens', 'TTFT, median', 'TTFT, p95', 'Cost']}
          empty="No requests in this period."
        />
      )}
    </PagedRows>
  )
}
