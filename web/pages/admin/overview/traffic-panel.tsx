import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { TrafficMetrics, TrafficView } from '../../../../src/core/api/operations.ts'
import { trafficQuery } from '../../../api/operator-queries.ts'
import { ChartFigure, ChartKey } from '../../../components/chart/chart-figure.tsx'
import { QueryView } from '../../../components/feedback/messages.tsx'
import { ChoiceField } from '../../../components/form/fields.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { TokensInOut } from '../../../components/table/call-table.tsx'
import { DataTable } from '../../../components/table/data-table.tsx'
import { Money } from '../../../components/text/money.tsx'
import { formatCount, formatShare, formatTime, plural } from '../../../lib/format.ts'
import { endedCalls, serverErrors } from '../../../lib/live-stats.ts'

const SPANS = [
  { value: '10', name: '10 min' },
  { value: '60', name: '60 min' },
]

/** Calls and errors of the last minutes, as a chart and as a table. */
export function TrafficPanel() {
  const [minutes, setMinutes] = useState('10')
  const query = useQuery({ ...trafficQuery(Number(minutes)), placeholderData: (before) => before })
  return (
    <Panel
      title="Traffic"
      actions={<ChoiceField label="Period" value={minutes} options={SPANS} onChange={setMinutes} />}
      padded
    >
      <QueryView query={query} loading={<span className="skeleton h-56" />}>
        {(traffic) => <Traffic traffic={traffic} stale={query.isPlaceholderData} />}
      </QueryView>
    </Panel>
  )
}

function Traffic({ traffic, stale }: { traffic: TrafficView; stale: boolean }) {
  const { total, data, step_seconds: step } = traffic
  const busy = data.filter((point) => endedCalls(point) > 0 || Object.keys(point.requests).length > 0)
  return (
    <ChartFigure
      stale={stale}
      caption="Calls that ended and requests that failed, by time."
      keys={
        <>
          <ChartKey colour="bg-series-8">calls ended</ChartKey>
          <ChartKey colour="bg-bad-fill">5xx responses</ChartKey>
        </>
      }
      chart={{
        points: data.map((point) => ({
          at: point.at,
          value: endedCalls(point),
          errors: serverErrors(point),
          text: `${formatTime(point.at)}: ${plural(endedCalls(point), 'call')} ended, ${serverErrors(point)} × 5xx`,
        })),
        formatValue: formatCount,
        formatLabel: formatTime,
        isWhole: true,
      }}
      table={
        <DataTable
          caption={`Traffic, a row for every ${step} seconds with requests`}
          rows={busy.toReversed()}
          rowKey={({ at }) => at}
          columns={{
            From: ({ at }) => formatTime(at),
            'Calls ended': (point) => formatCount(endedCalls(point)),
            Responses: ({ requests }) => countsText(requests),
            Errors: ({ errors }) => countsText(errors),
            'Input / output tokens': (point) => <TokensInOut of={point} />,
            Revenue: (point) => <Money usd={point.spend_usd} />,
          }}
          numeric={['Calls ended', 'Input / output tokens', 'Revenue']}
        />
      }
    >
      <p className="text-sm">
        In this period: {formatCount(endedCalls(total))} calls ended, {formatCount(serverErrors(total))}{' '}
        requests failed with a 5xx (
        {total.server_error_rate === null ? '–' : formatShare(total.server_error_rate)}), revenue{' '}
        <Money usd={total.spend_usd} />. {errorsText(total)}
      </p>
    </ChartFigure>
  )
}

const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${formatCount(count)} × ${name}`)
    .join(', ') || '–'

const errorsText = ({ errors }: TrafficMetrics): string =>
  Object.keys(errors).length === 0 ? '' : `Errors returned to clients: ${countsText(errors)}.`
