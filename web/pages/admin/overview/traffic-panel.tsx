import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import type { TrafficFigures, TrafficView } from '../../../../src/core/api/operations.ts'
import { trafficQuery } from '../../../api/operator-queries.ts'
import { ChoiceField } from '../../../components/choice-field.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { Money } from '../../../components/money.tsx'
import { Panel } from '../../../components/panel.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { formatTime } from '../../../lib/dates.ts'
import { formatCount } from '../../../lib/figures.ts'
import { formatShare } from '../../../lib/operator-figures.ts'
import { endedCalls, serverErrors } from '../../../lib/traffic-figures.ts'

const TrafficChart = lazy(async () => ({ default: (await import('./traffic-chart.tsx')).TrafficChart }))

const SPANS = [
  { value: '10', name: '10 min' },
  { value: '60', name: '60 min' },
]

/** Calls and errors of the last minutes, as a drawing and as figures. */
export function TrafficPanel() {
  const [minutes, setMinutes] = useState('10')
  const query = useQuery(trafficQuery(Number(minutes)))
  return (
    <Panel title="Traffic">
      <div className="panel-body">
        <ChoiceField label="Span" value={minutes} options={SPANS} onChange={setMinutes} />
        <QueryView query={query} loading={<span className="skeleton skeleton-block" />}>
          {(traffic) => <Traffic traffic={traffic} />}
        </QueryView>
      </div>
    </Panel>
  )
}

function Traffic({ traffic }: { traffic: TrafficView }) {
  const { total, data, step_seconds: step } = traffic
  const busy = data.filter((point) => endedCalls(point) > 0 || Object.keys(point.requests).length > 0)
  return (
    <figure className="stack-small">
      <figcaption className="visually-hidden">
        Calls that ended and requests that failed, by time. The same figures follow as a table under “Show as
        a table”.
      </figcaption>
      <Suspense fallback={<span className="skeleton skeleton-block" />}>
        <TrafficChart traffic={traffic} />
      </Suspense>
      <p className="small">
        In this span: {formatCount(endedCalls(total))} calls ended, {formatCount(serverErrors(total))}{' '}
        requests met a 5xx ({total.server_error_rate === null ? '–' : formatShare(total.server_error_rate)}),{' '}
        clients spent <Money usd={total.spend_usd} />. {errorsText(total)}
      </p>
      <details className="disclosure">
        <summary>Show as a table</summary>
        <DataTable
          caption={`Traffic, a row for every ${step} seconds in which something happened`}
          rows={busy.toReversed()}
          rowKey={({ at }) => at}
          columns={[
            { header: 'From', title: true, cell: ({ at }) => formatTime(at) },
            { header: 'Calls ended', numeric: true, cell: (point) => formatCount(endedCalls(point)) },
            { header: 'Of requests', cell: ({ requests }) => countsText(requests) },
            { header: 'Errors', cell: ({ errors }) => countsText(errors) },
            {
              header: 'Tokens in / out',
              numeric: true,
              cell: (point) =>
                `${formatCount(point.prompt_tokens)} / ${formatCount(point.completion_tokens)}`,
            },
            { header: 'Spent', numeric: true, cell: (point) => <Money usd={point.spend_usd} /> },
          ]}
        />
      </details>
    </figure>
  )
}

const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${formatCount(count)} × ${name}`)
    .join(', ') || '–'

const errorsText = ({ errors }: TrafficFigures): string =>
  Object.keys(errors).length === 0 ? '' : `Errors that clients got: ${countsText(errors)}.`
