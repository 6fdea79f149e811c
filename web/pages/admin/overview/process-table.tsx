import type { ProcessView } from '../../../../src/core/api/operations.ts'
import { DataTable } from '../../../components/data-table.tsx'
import { useNow } from '../../../components/use-now.ts'
import { formatMoment } from '../../../lib/dates.ts'
import { formatCount, formatDuration } from '../../../lib/figures.ts'
import { formatMemory, formatUptime, roleName } from '../../../lib/operator-figures.ts'

/** Every process that reported itself within the last seconds. */
export function ProcessTable({ processes }: { processes: readonly ProcessView[] }) {
  const now = useNow(5_000)
  return (
    <DataTable
      caption="Processes of the gateway"
      rows={processes}
      rowKey={({ id }) => id}
      columns={[
        {
          header: 'Process',
          title: true,
          cell: (process) => (
            <span className="stack-small">
              {roleName(process.role)}
              <span className="small muted">
                {process.host}, pid {process.pid}, version {process.version}
              </span>
            </span>
          ),
        },
        {
          header: 'In flight',
          numeric: true,
          cell: ({ role, in_flight_calls: calls, concurrency }) =>
            role === 'settlement' ? '–' : <InFlight calls={calls} most={concurrency} />,
        },
        { header: 'Ended since its start', cell: ({ finished }) => <Finished counts={finished} /> },
        {
          header: 'Event loop, p99',
          numeric: true,
          cell: (process) => formatDuration(process.event_loop_delay_p99_ms),
        },
        { header: 'Memory', numeric: true, cell: (process) => formatMemory(process.rss_bytes) },
        {
          header: 'Up for',
          numeric: true,
          cell: (process) => (
            <span className="nowrap" title={`since ${formatMoment(process.started_at)}`}>
              {formatUptime(now.getTime() - Date.parse(process.started_at))}
            </span>
          ),
        },
        {
          header: 'Last error',
          cell: ({ last_error: error }) =>
            error === null ? (
              <span className="muted">none</span>
            ) : (
              <span className="stack-small">
                {error.message}
                <span className="small muted">{formatMoment(error.at)}</span>
              </span>
            ),
        },
      ]}
    />
  )
}

function InFlight({ calls, most }: { calls: number; most: number | null }) {
  return (
    <span className="nowrap">
      {formatCount(calls)}
      {most !== null && <span className="muted"> / {formatCount(most)}</span>}
    </span>
  )
}

function Finished({ counts }: { counts: Readonly<Record<string, number>> }) {
  const entries = Object.entries(counts)
  if (entries.length === 0) return <span className="muted">nothing yet</span>
  return <>{entries.map(([name, count]) => `${formatCount(count)} ${name}`).join(', ')}</>
}
