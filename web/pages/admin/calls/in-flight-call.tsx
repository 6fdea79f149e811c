import type { InFlightTimeline } from '../../../../src/core/api/calls.ts'
import { Note } from '../../../components/feedback/messages.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { Facts, Money } from '../../../components/text/values.tsx'
import { plural } from '../../../lib/format.ts'
import { AccountLink, EventTable } from './timeline.tsx'

const STATES: Record<InFlightTimeline['state'], string> = {
  queued: 'waits for a worker',
  running: 'runs',
  settling: 'has ended and waits for its charge',
}

/** A call that is not settled yet; the page polls every second until it is. */
export function InFlightCall({ call }: { call: InFlightTimeline }) {
  return (
    <>
      <Note announce>
        This call {STATES[call.state]}. The page shows the whole timeline as soon as it is settled.
      </Note>
      <Panel title="Known so far" padded>
        <Facts
          rows={{
            Account: call.account_id === null ? '–' : <AccountLink id={call.account_id} />,
            'Requested model': call.requested_model ?? '–',
            Held: <Money usd={call.held_usd} />,
            'Claimed by a worker': plural(call.claims, 'time'),
            'Candidates, in order': call.candidates.length === 0 ? '–' : <Candidates of={call.candidates} />,
          }}
        />
      </Panel>
      <Panel title="Steps so far">
        <EventTable events={call.timeline} />
      </Panel>
    </>
  )
}

function Candidates({ of }: { of: InFlightTimeline['candidates'] }) {
  return (
    <ol className="plain-list">
      {of.map(({ offer, model }) => (
        <li key={`${offer} ${model}`}>
          <code>{offer}</code> <span className="muted">for {model}</span>
        </li>
      ))}
    </ol>
  )
}
