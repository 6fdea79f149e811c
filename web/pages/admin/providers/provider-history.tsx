import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ProviderHourView } from '../../../../src/core/api/offers.ts'
import { providerHoursQuery } from '../../../api/operator-queries.ts'
import { ChartFigure, ChartKey } from '../../../components/chart/chart-figure.tsx'
import { QueryView } from '../../../components/feedback/messages.tsx'
import { ChoiceField } from '../../../components/form/fields.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { DataTable } from '../../../components/table/data-table.tsx'
import {
  formatCount,
  formatDuration,
  formatMoment,
  formatShare,
  formatShortMoment,
  plural,
} from '../../../lib/format.ts'

const SPANS = [
  { value: '24', name: '24 hours' },
  { value: '168', name: '7 days' },
]

/** Attempts, failures and time to first token of a provider, hour by hour. */
export function ProviderHistory({ providerId }: { providerId: string }) {
  const [hours, setHours] = useState('24')
  const query = useQuery({
    ...providerHoursQuery(providerId, hours),
    placeholderData: (before) => before,
  })
  return (
    <Panel
      title="Errors and latency by hour"
      padded
      actions={<ChoiceField label="Period" value={hours} options={SPANS} onChange={setHours} />}
    >
      <QueryView query={query} loading={<span className="skeleton h-56" />}>
        {({ data }) => <Charts hours={data} />}
      </QueryView>
      <p className="text-sm text-muted">
        Attempts with our keys of calls that named their model. Rate limits and failures of a request itself
        are left out. The last hour is incomplete.
      </p>
    </Panel>
  )
}

function Charts({ hours }: { hours: readonly ProviderHourView[] }) {
  const common = { formatLabel: (at: string) => formatShortMoment(at) }
  return (
    <div className="columns gap-8 [--column:24rem]">
      <ChartFigure
        caption="Attempts and failed attempts, by hour."
        keys={
          <>
            <ChartKey colour="bg-series-8">attempts</ChartKey>
            <ChartKey colour="bg-bad-fill">failed</ChartKey>
          </>
        }
        chart={{
          ...common,
          points: hours.map(({ at, succeeded, failed }) => ({
            at,
            value: succeeded + failed,
            errors: failed,
            text: `${formatMoment(at)}: ${plural(succeeded + failed, 'attempt')}, ${formatCount(failed)} failed`,
          })),
          formatValue: formatCount,
          isWhole: true,
        }}
        table={<HourTable hours={hours} />}
      />
      <ChartFigure
        caption="Time to first token by hour: 95th percentile and median."
        keys={
          <>
            <ChartKey colour="bg-accent-fill">p95</ChartKey>
            <ChartKey colour="bg-series-2">median</ChartKey>
          </>
        }
        chart={{
          ...common,
          kind: 'lines',
          points: hours.map(({ at, first_token_p50_ms: p50, first_token_p95_ms: p95 }) => ({
            at,
            value: p95,
            second: p50,
            text: `${formatMoment(at)}: TTFT p50 ${formatDuration(p50)}, p95 ${formatDuration(p95)}`,
          })),
          formatValue: formatDuration,
        }}
      />
    </div>
  )
}

const HourTable = ({ hours }: { hours: readonly ProviderHourView[] }) => (
  <DataTable
    caption="Hours with attempts, newest first"
    rows={hours.filter(({ succeeded, failed }) => succeeded + failed > 0).toReversed()}
    rowKey={({ at }) => at}
    empty="No attempts in this period."
    columns={{
      Hour: ({ at }) => formatMoment(at),
      Attempts: ({ succeeded, failed }) => formatCount(succeeded + failed),
      Failed: ({ failed }) => formatCount(failed),
      'Success rate': ({ succeeded, failed }) => formatShare(succeeded / (succeeded + failed)),
      'TTFT p50': ({ first_token_p50_ms: ms }) => formatDuration(ms),
      'TTFT p95': ({ first_token_p95_ms: ms }) => formatDuration(ms),
    }}
    numeric={['Attempts', 'Failed', 'Success rate', 'TTFT p50', 'TTFT p95']}
  />
)
