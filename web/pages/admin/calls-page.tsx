import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Route } from 'lucide-react'
import { useMemo } from 'react'
import type { OperatorCall } from '../../../src/core/api/calls.ts'
import { operatorCallsQuery } from '../../api/operator-queries.ts'
import { Button } from '../../components/form/button.tsx'
import { type FieldSpec, Form, useForm } from '../../components/form/form.tsx'
import { PageHead } from '../../components/layout/page.tsx'
import { CallOutcome, CallUsage } from '../../components/table/call-table.tsx'
import { DataTable, ListPanel, TwoLines } from '../../components/table/data-table.tsx'
import { Code } from '../../components/text/code.tsx'
import { Money } from '../../components/text/money.tsx'
import { Moment } from '../../components/text/values.tsx'
import {
  CALL_SPANS,
  CALL_STATUSES,
  isCallId,
  type OperatorCallFilters,
  readCallFilters,
} from '../../lib/calls/call-filters.ts'
import { formatDuration, formatMoment, lastDays } from '../../lib/format.ts'

/** The calls of all accounts, searched. */
export function OperatorCallsPage() {
  const filters = useSearch({ from: '/operator/admin/calls' })
  const navigate = useNavigate({ from: '/admin/calls' })
  const { from } = useMemo(() => lastDays(Number(filters.days ?? '30'), new Date()), [filters.days])
  const isFiltered = Object.keys(filters).length > 0
  return (
    <>
      <PageHead
        title="Calls"
        description="Settled calls of all accounts, newest first. To find a running call, enter its ID."
      />
      <CallFilterForm
        // New fields for new filters in the address.
        key={JSON.stringify(filters)}
        filters={filters}
        onFilter={(search) => void navigate({ search })}
      />
      <ListPanel
        title={isFiltered ? 'Results' : 'All calls'}
        query={operatorCallsQuery(filters, from)}
        icon={Route}
        empty={
          isFiltered
            ? 'No calls found. Remove a filter or choose a longer period.'
            : 'No calls yet. A call appears here about a second after it ends.'
        }
      >
        {(calls) => <OperatorCallTable calls={calls} />}
      </ListPanel>
    </>
  )
}

/** Settled calls for operators: with the offer that served them, and the margin. */
const OperatorCallTable = ({ calls }: { calls: readonly OperatorCall[] }) => (
  <DataTable
    caption="Calls, newest first"
    rows={calls}
    columns={{
      'Model and offer': (call) => (
        <TwoLines second={<Code className="in-table">{call.served_offer ?? 'no provider'}</Code>}>
          <Link to="/admin/calls/$id" params={{ id: call.id }}>
            {call.requested_model}
            {call.served_model !== null && call.served_model !== call.requested_model && (
              <> → {call.served_model}</>
            )}
            <span className="sr-only">, the call of {formatMoment(call.admitted_at)}</span>
          </Link>
        </TwoLines>
      ),
      When: (call) => <Moment at={call.admitted_at} />,
      Status: (call) => <CallOutcome call={call} />,
      Account: ({ account_id: id }) => (
        <Link to="/admin/accounts/$id" params={{ id }} title={id} className="whitespace-nowrap">
          …{id.slice(-8)}
        </Link>
      ),
      'Input / output tokens': (call) => <CallUsage of={call} />,
      Duration: (call) => (
        <TwoLines nowrap second={`TTFT ${formatDuration(call.first_token_ms)}`}>
          {formatDuration(call.duration_ms)}
        </TwoLines>
      ),
      'Charged / margin': (call) => (
        <TwoLines
          nowrap
          second={
            <span className="in-table">
              margin <Money usd={call.margin_usd} />
            </span>
          }
        >
          <Money usd={call.charged_usd} />
        </TwoLines>
      ),
    }}
    numeric={['Input / output tokens', 'Duration', 'Charged / margin']}
    long={['Status']}
    brief={['When', 'Account', 'Duration']}
  />
)

const STATUSES = [
  { value: '', name: 'Any' },
  ...CALL_STATUSES.map((status) => ({ value: status, name: status })),
]
const SPANS = CALL_SPANS.map((days) => ({
  value: days,
  name: days === '1' ? 'Today (UTC)' : `${days} days`,
}))

const MORE = {
  request: { label: 'Request', placeholder: 'x-request-id' },
  account: { label: 'Account', placeholder: 'email or acct_…' },
  key: { label: 'Key', placeholder: 'key_…' },
  model: { label: 'Model' },
  offer: { label: 'Offer' },
  min_duration_ms: { label: 'Min duration (ms)', inputMode: 'numeric' },
} satisfies Partial<Record<keyof OperatorCallFilters, FieldSpec>>
const MORE_NAMES = Object.keys(MORE) as Array<keyof typeof MORE>

/** The filters of the list of calls. The id of a call leads to that call. */
function CallFilterForm(props: {
  filters: OperatorCallFilters
  onFilter: (filters: OperatorCallFilters) => void
}) {
  const { filters, onFilter } = props
  const navigate = useNavigate()
  const began = (name: keyof OperatorCallFilters) => ({ initial: filters[name] ?? '' })
  const { input, ...form } = useForm({
    fields: {
      id: {
        label: 'Call ID',
        className: 'field-wide',
        placeholder: 'chatcmpl_…',
        check: (id) => (id === '' || isCallId(id) ? null : 'Call IDs start with chatcmpl_.'),
      },
      status: { label: 'Status', options: STATUSES, ...began('status') },
      days: { label: 'Period', options: SPANS, initial: filters.days ?? '30' },
      ...(Object.fromEntries(MORE_NAMES.map((name) => [name, { ...MORE[name], ...began(name) }])) as Record<
        keyof typeof MORE,
        FieldSpec
      >),
    },
    send: async ({ id, days, ...texts }) => {
      if (id !== '') await navigate({ to: '/admin/calls/$id', params: { id } })
      else onFilter(readCallFilters({ ...texts, ...((filters.days ?? days !== '30') && { days }) }))
    },
  })
  return (
    <Form form={form}>
      <div className="toolbar">
        {input('id')}
        {input('status')}
        {input('days')}
        <div className="row">
          <Button kind="primary">Search</Button>
          <Button onClick={() => onFilter({})}>Clear</Button>
        </div>
      </div>
      <details className="disclosure" open={MORE_NAMES.some((name) => filters[name] !== undefined)}>
        <summary>More filters: request, account, key, model, offer, duration</summary>
        <div className="toolbar">{MORE_NAMES.map((name) => input(name))}</div>
      </details>
    </Form>
  )
}
