import type { QueueView } from '../../../../src/core/api/operations.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { formatCount, formatDuration } from '../../../lib/format.ts'

const WHAT: Record<QueueView['name'], string> = {
  dispatch: 'calls on their way to a provider',
  settlement: 'finished calls to be charged',
  events: 'events for clients’ webhooks',
}

/** The queues between the processes. */
export function QueueTable({ queues }: { queues: readonly QueueView[] }) {
  return (
    <DataTable
      caption="Queues"
      rows={queues}
      rowKey={({ name }) => name}
      columns={[
        {
          header: 'Queue',
          title: true,
          cell: ({ name }) => (
            <>
              {name} <span className="small muted">{WHAT[name]}</span>
            </>
          ),
        },
        { header: 'Waiting', numeric: true, cell: ({ waiting }) => formatCount(waiting) },
        { header: 'Running', numeric: true, cell: ({ active }) => formatCount(active) },
        { header: 'Delayed', numeric: true, cell: ({ delayed }) => formatCount(delayed) },
        { header: 'Failed', numeric: true, cell: ({ failed }) => formatCount(failed) },
        {
          header: 'Oldest waits for',
          numeric: true,
          cell: ({ oldest_waiting_ms: oldest }) => formatDuration(oldest),
        },
      ]}
    />
  )
}
