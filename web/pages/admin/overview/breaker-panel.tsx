import { CircleCheck } from 'lucide-react'
import { useState } from 'react'
import { useLiveBoard } from '../../../api/live-board.tsx'
import { Note, SkeletonLines } from '../../../components/feedback/messages.tsx'
import { Button } from '../../../components/form/button.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { DataTable } from '../../../components/table/data-table.tsx'
import { formatMoment } from '../../../lib/format.ts'
import { EnableDialog } from '../enable-dialog.tsx'
import { BreakerBadge } from '../providers/health.tsx'

/** Offers and providers that receive no calls at this second. */
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
          <Note tone="warn">Unknown at the moment.</Note>
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
          columns={{
            'Offer or provider': ({ subject: id }) => <code>{id}</code>,
            State: ({ state }) => <BreakerBadge state={state} />,
            Why: ({ reason }) => reason,
            Retried: ({ state, until }) =>
              state === 'half-open' ? 'with the next call' : formatMoment(until),
            Actions: ({ subject: id, state }) =>
              state === 'rate-limited' ? (
                <span className="muted">automatic</span>
              ) : (
                <Button size="small" about={id} onClick={() => setSubject(id)}>
                  Re-enable
                </Button>
              ),
          }}
          numeric={['Actions']}
        />
      )}
      {subject && <EnableDialog subject={subject} onClose={() => setSubject(null)} />}
    </Panel>
  )
}
