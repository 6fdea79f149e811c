import { CircleCheck } from 'lucide-react'
import { useState } from 'react'
import { useLiveBoard } from '../../../api/live-board.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { SkeletonLines } from '../../../components/loading.tsx'
import { Note } from '../../../components/note.tsx'
import { Panel } from '../../../components/panel.tsx'
import { formatMoment } from '../../../lib/dates.ts'
import { EnableDialog } from '../enable-dialog.tsx'
import { BreakerBadge } from '../providers/health-badge.tsx'

/** Offers and providers that calls keep away from at this second. */
export function BreakerPanel() {
  const { view } = useLiveBoard()
  const [subject, setSubject] = useState<string | null>(null)
  const breakers = view?.breakers
  return (
    <Panel title="Held back">
      {view === null ? (
        <SkeletonLines lines={2} />
      ) : breakers == null ? (
        <div className="panel-body">
          <Note tone="warn">Not known at the moment.</Note>
        </div>
      ) : breakers.length === 0 ? (
        <p className="panel-body row">
          <CircleCheck size={18} aria-hidden="true" />
          Every breaker is closed: calls may go to every offer.
        </p>
      ) : (
        <DataTable
          caption="Breakers that are not closed"
          rows={breakers}
          rowKey={({ subject: id, state }) => `${id} ${state}`}
          columns={[
            { header: 'Offer or provider', title: true, cell: ({ subject: id }) => <code>{id}</code> },
            { header: 'State', cell: ({ state }) => <BreakerBadge state={state} /> },
            { header: 'Why', cell: ({ reason }) => reason },
            {
              header: 'Tried again',
              cell: ({ state, until }) =>
                state === 'half-open' ? 'with the next call' : formatMoment(until),
            },
            {
              header: 'Actions',
              numeric: true,
              cell: ({ subject: id, state }) =>
                state === 'rate-limited' ? (
                  <span className="muted">by itself</span>
                ) : (
                  <button type="button" className="button button-small" onClick={() => setSubject(id)}>
                    Re-enable<span className="visually-hidden"> {id}</span>
                  </button>
                ),
            },
          ]}
        />
      )}
      <EnableDialog subject={subject} onClose={() => setSubject(null)} />
    </Panel>
  )
}
