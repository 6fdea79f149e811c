import { Link } from '@tanstack/react-router'
import type { OperatorCall } from '../../../../src/core/api/calls.ts'
import { CallStatus, TokensInOut } from '../../../components/table/call-table.tsx'
import { DataTable } from '../../../components/table/data-table.tsx'
import { Money } from '../../../components/text/values.tsx'
import { formatDuration, formatMoment } from '../../../lib/format.ts'

/** Settled calls for operators: with the offer that served them, and the margin. */
export function OperatorCallTable({ calls }: { calls: readonly OperatorCall[] }) {
  return (
    <DataTable
      caption="Calls, newest first"
      rows={calls}
      columns={{
        'Model and offer': (call) => (
          <span className="stack-tight">
            <Link to="/admin/calls/$id" params={{ id: call.id }}>
              {call.requested_model}
              {call.served_model !== null && call.served_model !== call.requested_model && (
                <> → {call.served_model}</>
              )}
              <span className="visually-hidden">, the call of {formatMoment(call.admitted_at)}</span>
            </Link>
            <code className="small muted anywhere">{call.served_offer ?? 'not served'}</code>
          </span>
        ),
        When: (call) => formatMoment(call.admitted_at),
        Status: (call) => <CallStatus call={call} />,
        Account: ({ account_id: id }) => (
          <Link to="/admin/accounts/$id" params={{ id }} title={id} className="nowrap">
            …{id.slice(-8)}
          </Link>
        ),
        'Tokens in / out': (call) => <TokensInOut of={call} />,
        Duration: (call) => (
          <span className="stack-tight nowrap">
            {formatDuration(call.duration_ms)}
            <span className="small muted">queue {formatDuration(call.queued_ms)}</span>
            <span className="small muted">first token {formatDuration(call.first_token_ms)}</span>
          </span>
        ),
        'Charged, and margin': (call) => (
          <span className="stack-tight nowrap">
            <Money usd={call.charged_usd} />
            <span className="small muted">
              margin <Money usd={call.margin_usd} />
            </span>
          </span>
        ),
      }}
      numeric={['Tokens in / out', 'Duration', 'Charged, and margin']}
    />
  )
}
