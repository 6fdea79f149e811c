import { Link } from '@tanstack/react-router'
import type { CallSummary } from '../../src/core/api/calls.ts'
import { formatMoment } from '../lib/dates.ts'
import { formatCount, formatDuration } from '../lib/figures.ts'
import { Badge, type Tone } from './badge.tsx'
import { DataTable } from './data-table.tsx'
import { Money } from './money.tsx'

const TONES: Record<CallSummary['status'], Tone> = {
  completed: 'good',
  failed: 'bad',
  cancelled: 'plain',
  interrupted: 'warn',
}

/** How a call ended, in a word. */
export function CallStatus({ call }: { call: Pick<CallSummary, 'status' | 'error_code'> }) {
  return (
    <span className="row">
      <Badge tone={TONES[call.status]}>{call.status}</Badge>
      {call.error_code && <code className="small">{call.error_code}</code>}
    </span>
  )
}

/** Settled calls with what they used and cost. */
export function CallTable({
  calls,
  keyNames,
}: {
  calls: readonly CallSummary[]
  keyNames?: ReadonlyMap<string, string>
}) {
  return (
    <DataTable
      caption="Calls, newest first"
      rows={calls}
      rowKey={({ id }) => id}
      columns={[
        {
          header: 'Model',
          title: true,
          cell: (call) => (
            <Link to="/calls/$id" params={{ id: call.id }}>
              {call.model}
              <span className="visually-hidden">
                , details of the call of {formatMoment(call.created_at)}
              </span>
            </Link>
          ),
        },
        { header: 'When', cell: (call) => <span className="nowrap">{formatMoment(call.created_at)}</span> },
        { header: 'Status', cell: (call) => <CallStatus call={call} /> },
        ...(keyNames
          ? [
              {
                header: 'Key',
                cell: (call: CallSummary) => keyNames.get(call.key_id) ?? <code>{call.key_id}</code>,
              },
            ]
          : []),
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
          header: 'First token',
          numeric: true,
          cell: (call) => (call.first_token_ms === null ? '–' : formatDuration(call.first_token_ms)),
        },
        { header: 'Duration', numeric: true, cell: (call) => formatDuration(call.duration_ms) },
        {
          header: 'Cost',
          numeric: true,
          cell: (call) => (
            <span className="nowrap">
              <Money usd={call.cost_usd} />
              {call.byok && <span className="muted"> fee</span>}
            </span>
          ),
        },
      ]}
    />
  )
}
