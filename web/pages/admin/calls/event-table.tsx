import type { TimelineEvent } from '../../../../src/core/api/calls.ts'
import { DataTable } from '../../../components/data-table.tsx'
import { formatMoment } from '../../../lib/dates.ts'
import { formatCount } from '../../../lib/figures.ts'

/** Every step of a call with its time. */
export function EventTable({ events }: { events: readonly TimelineEvent[] }) {
  return (
    <DataTable
      caption="Steps of the call"
      rows={events.map((event, index) => ({ ...event, index }))}
      rowKey={({ index }) => String(index)}
      columns={[
        { header: 'After', numeric: true, cell: ({ after_ms: ms }) => `${formatCount(ms)} ms` },
        { header: 'What', title: true, cell: ({ event }) => <span className="anywhere">{event}</span> },
        { header: 'At', cell: ({ at }) => <span className="nowrap">{formatMoment(at)}</span> },
      ]}
    />
  )
}
