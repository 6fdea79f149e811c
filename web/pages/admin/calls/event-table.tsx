import type { TimelineEvent } from '../../../../src/core/api/calls.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { formatCount, formatMoment } from '../../../lib/format.ts'

/** Every step of a call with its time. */
export function EventTable({ events }: { events: readonly TimelineEvent[] }) {
  return (
    <DataTable
      caption="Steps of the call"
      rows={events.map((event, index) => ({ ...event, index }))}
      rowKey={({ index }) => String(index)}
      columns={{
        After: ({ after_ms: ms }) => `${formatCount(ms)} ms`,
        What: ({ event }) => <span className="anywhere">{event}</span>,
        At: ({ at }) => <span className="nowrap">{formatMoment(at)}</span>,
      }}
      title="What"
      numeric={['After']}
    />
  )
}
