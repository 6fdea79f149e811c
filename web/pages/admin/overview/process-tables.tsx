import { useEffect, useState } from 'react'
import type { ProcessView, QueueView } from '../../../../src/core/api/operations.ts'
import { DataTable, TwoLines } from '../../../components/table/data-table.tsx'
import { formatCount, formatDuration, formatMoment } from '../../../lib/format.ts'
import { formatMemory, formatUptime, ROLE_NAMES } from '../../../lib/live-stats.ts'

/** Every process that reported itself within the last seconds. */
export function ProcessTable({ processes }: { processes: readonly ProcessView[] }) {
  const now = useNow(5_000)
  return (
    <DataTable
      caption="Processes of the gateway"
      rows={processes}
      columns={{
        Process: (process) => (
          <TwoLines second={`${process.host}, pid ${process.pid}, version ${process.version}`}>
            {ROLE_NAMES[process.role]}
          </TwoLines>
        ),
        'In flight': ({ role, in_flight_calls: calls, concurrency }) =>
          role === 'settlement' ? '–' : <InFlight calls={calls} most={concurrency} />,
        'Since start': ({ finished }) => <Finished counts={finished} />,
        'Event loop (p99)': (process) => formatDuration(process.event_loop_delay_p99_ms),
        Memory: (process) => formatMemory(process.rss_bytes),
        Uptime: (process) => (
          <span className="whitespace-nowrap" title={`since ${formatMoment(process.started_at)}`}>
            {formatUptime(now.getTime() - Date.parse(process.started_at))}
          </span>
        ),
        'Last error': ({ last_error: error }) =>
          error === null ? (
            <span className="text-muted">none</span>
          ) : (
            <TwoLines second={formatMoment(error.at)}>{error.message}</TwoLines>
          ),
      }}
      numeric={['In flight', 'Event loop (p99)', 'Memory', 'Uptime']}
    />
  )
}

const InFlight = ({ calls, most }: { calls: number; most: number | null }) => (
  <span className="whitespace-nowrap">
    {formatCount(calls)}
    {most !== null && <span className="text-muted"> / {formatCount(most)}</span>}
  </span>
)

function Finished({ counts }: { counts: Readonly<Record<string, number>> }) {
  const entries = Object.entries(counts)
  if (entries.length === 0) return <span className="text-muted">no calls yet</span>
  return <>{entries.map(([name, count]) => `${formatCount(count)} ${name}`).join(', ')}</>
}

const WHAT: Record<QueueView['name'], string> = {
  dispatch: 'calls to providers',
  settlement: 'charges of finished calls',
  events: 'customer webhooks',
  catalog: 'model lists and prices',
  mail: 'email',
}

/** The queues between the processes. */
export const QueueTable = ({ queues }: { queues: readonly QueueView[] }) => (
  <DataTable
    caption="Queues"
    rows={queues}
    rowKey={({ name, shard }) => `${name} ${shard}`}
    columns={{
      Queue: ({ name, shard }) => (
        <>
          {name}{' '}
          <span className="text-sm text-muted">
            {WHAT[name]}
            {queues.filter((queue) => queue.name === name).length > 1 && `, shard ${shard}`}
          </span>
        </>
      ),
      Waiting: ({ waiting }) => formatCount(waiting),
      Running: ({ active }) => formatCount(active),
      Delayed: ({ delayed }) => formatCount(delayed),
      Failed: ({ failed }) => formatCount(failed),
      'Oldest waiting': ({ oldest_waiting_ms: oldest }) => formatDuration(oldest),
    }}
    numeric={['Waiting', 'Running', 'Delayed', 'Failed', 'Oldest waiting']}
  />
)

/** The time of now, again every so many milliseconds, for what is shown as an age. */
function useNow(everyMs: number): Date {
  const [now, setNow] = useState(() => new Date())
  useEffect(() => {
    const timer = window.setInterval(() => setNow(new Date()), everyMs)
    return () => window.clearInterval(timer)
  }, [everyMs])
  return now
}
