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
      columns={{
        Queue: ({ name }) => (
          <>
            {name} <span className="small muted">{WHAT[name]}</span>
          </>
        ),
        Waiting: ({ waiting }) => formatCount(waiting),
        Running: ({ active }) => formatCount(active),
        Delayed: ({ delayed }) => formatCount(delayed),
        Failed: ({ failed }) => formatCount(failed),
        'Oldest waits for': ({ oldest_waiting_ms: oldest }) => formatDuration(oldest),
      }}
      numeric={['Waiting', 'Running', 'Delayed', 'Failed', 'Oldest waits for']}
    />
  )
}
