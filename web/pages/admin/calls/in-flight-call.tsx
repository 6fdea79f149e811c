import { Link } from '@tanstack/react-router'
import type { InFlightTimeline } from '../../../../src/core/api/calls.ts'
import { Money } from '../../../components/money.tsx'
import { Note } from '../../../components/note.tsx'
import { Panel } from '../../../components/panel.tsx'
import { EventTable } from './event-table.tsx'

const STATES: Record<InFlightTimeline['state'], string> = {
  queued: 'waits for a worker',
  running: 'runs',
  settling: 'has ended and waits for its charge',
}

/** A call that is not settled yet; the page asks again every second until it is. */
export function InFlightCall({ call }: { call: InFlightTimeline }) {
  return (
    <>
      <Note announce>
        This call {STATES[call.state]}. The page shows the whole timeline as soon as it is settled.
      </Note>
      <Panel title="What is known now">
        <div className="panel-body">
          <dl className="facts">
            <dt>Account</dt>
            <dd>
              {call.account_id ? (
                <Link to="/admin/accounts/$id" params={{ id: call.account_id }}>
                  {call.account_id}
                </Link>
              ) : (
                '–'
              )}
            </dd>
            <dt>Model asked for</dt>
            <dd>{call.requested_model ?? '–'}</dd>
            <dt>Held</dt>
            <dd>{call.held_usd === null ? '–' : <Money usd={call.held_usd} />}</dd>
            <dt>Taken by a worker</dt>
            <dd>{call.claims} times</dd>
            <dt>Where it may go, in order</dt>
            <dd>
              {call.candidates.length === 0 ? (
                '–'
              ) : (
                <ol className="plain-list">
                  {call.candidates.map(({ offer, model }) => (
                    <li key={`${offer} ${model}`}>
                      <code>{offer}</code> <span className="muted">for {model}</span>
                    </li>
                  ))}
                </ol>
              )}
            </dd>
          </dl>
        </div>
      </Panel>
      <Panel title="So far">
        <EventTable events={call.timeline} />
      </Panel>
    </>
  )
}
