import { Link } from '@tanstack/react-router'
import type { OperatorCall } from '../../../../src/core/api/calls.ts'
import { CallStatus } from '../../../components/call-table.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { Money } from '../../../components/money.tsx'
import { formatMoment } from '../../../lib/dates.ts'
import { formatCount, formatDuration } from '../../../lib/figures.ts'

/** Settled calls as an operator sees them: with who served them, and what is left. */
export function OperatorCallTable({ calls }: { calls: readonly OperatorCall[] }) {
  return (
    <DataTable
      caption="Calls, newest first"
      rows={calls}
      rowKey={({ id }) => id}
      columns={[
        {
          header: 'Model and offer',
          title: true,
          cell: (call) => (
            <span className="stack-tight">
              <Link to="/admin/calls/$id" params={{ id: call.id }}>
                {call.requested_model}
                {call.served_model !== null && call.served_model !== call.requested_model && (
                  <> → {call.served_model}</>
                )}
                <span className="visually-hidden">, the call of {formatMoment(call.admitted_at)}</span>
              </Link>
              <code className="small muted anywhere">{call.served_offer ?? 'served by none'}</code>
            </span>
          ),
        },
        { header: 'When', cell: (call) => formatMoment(call.admitted_at) },
        { header: 'Status', cell: (call) => <CallStatus call={call} /> },
        {
          header: 'Account',
          cell: ({ account_id: id }) => (
            <Link to="/admin/accounts/$id" params={{ id }} title={id} className="nowrap">
              …{id.slice(-8)}
            </Link>
          ),
        },
        {
          header: 'Tokens in / out',
          numeric: true,
          cell: (call) => (
            <span className="nowrap">
              {formatCount(call.prompt_tokens)} / {formatCount(call.completion_tokens)}
            </span>
          ),
        },
        {
          header: 'Duration',
          numeric: true,
          cell: (call) => (
            <span className="stack-tight nowrap">
              {formatDuration(call.duration_ms)}
              <span className="small muted">queue {duration(call.queued_ms)}</span>
              <span className="small muted">first token {duration(call.first_token_ms)}</span>
            </span>
          ),
        },
        {
          header: 'Charged, and margin',
          numeric: true,
          cell: (call) => (
            <span className="stack-tight nowrap">
              <Money usd={call.charged_usd} />
              <span className="small muted">
                margin <Money usd={call.margin_usd} />
              </span>
            </span>
          ),
        },
      ]}
    />
  )
}

const duration = (milliseconds: number | null): string =>
  milliseconds === null ? '–' : formatDuration(milliseconds)
