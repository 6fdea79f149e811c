import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { operatorCallsQuery } from '../../api/operator-queries.ts'
import { Button } from '../../components/form/button.tsx'
import { TextField } from '../../components/form/fields.tsx'
import { type FieldSpec, Form, useForm } from '../../components/form/form.tsx'
import { LinkTabs } from '../../components/layout/link-tabs.tsx'
import { PageHead } from '../../components/layout/page.tsx'
import { CallListPanel } from '../../components/table/call-list-panel.tsx'
import { CallTable, operatorCallRow } from '../../components/table/call-table.tsx'
import { TwoLines } from '../../components/table/data-table.tsx'
import {
  CALL_STATUSES,
  callPeriod,
  isCallId,
  type OperatorCallFilters,
  readCallFilters,
  SPANS,
} from '../../lib/calls/call-filters.ts'
import { type CallPlace, orderChange, placeQuery, readOrder } from '../../lib/calls/call-order.ts'
import { momentIn, useShownZone } from '../../lib/time-zone.ts'
import { AccountLink } from './links.tsx'
import { Refusals } from './refusals.tsx'

/** The calls of all accounts, and what was refused before it was one. */
export const OperatorCallsPage = () => (
  <>
    <PageHead title="Calls" />
    <LinkTabs
      label="Calls and refusals"
      tab={useSearch({ from: '/operator/admin/calls' }).tab}
      parts={{ Calls: <Calls />, 'Refused requests': <Refusals /> }}
    />
  </>
)

/** The calls of all accounts, searched. */
function Calls() {
  const filters = useSearch({ from: '/operator/admin/calls' })
  const navigate = useNavigate({ from: '/admin/calls' })
  const zone = useShownZone()
  const now = useMemo(() => new Date(), [])
  const { sort: _sort, order: _order, at, cursor: _cursor, tab: _tab, ...chosen } = filters
  const isFiltered = Object.keys(chosen).length > 0
  const order = readOrder(filters)
  const place = placeQuery(filters, (local) => momentIn(zone, local))
  const set = (changed: CallPlace) =>
    void navigate({
      search: (before) => readCallFilters({ ...before, ...changed }),
      replace: changed.cursor === undefined,
      resetScroll: false,
    })
  return (
    <>
      <CallFilterForm
        // New fields for new filters in the address.
        key={JSON.stringify(chosen)}
        filters={chosen}
        onFilter={(search) => void navigate({ search })}
      />
      <CallListPanel
        noun="call"
        title={isFiltered ? 'Results' : 'All settled calls'}
        actions={
          order.by === 'time' && (
            <div className="toolbar">
              <TextField
                label="Go to"
                type="datetime-local"
                value={at ?? ''}
                onChange={(local) => set({ at: local, cursor: undefined })}
              />
            </div>
          )
        }
        query={operatorCallsQuery(chosen, { ...place, ...callPeriod(filters, place.at ?? null, now) })}
        isByTime={order.by === 'time'}
        onCursor={(cursor) => set({ cursor })}
        empty={
          isFiltered
            ? 'No calls found. Remove a filter or choose a longer period.'
            : 'No calls yet. A call appears here about a second after it ends.'
        }
      >
        {(calls) => (
          <CallTable
            rows={calls.map((call) =>
              operatorCallRow(
                call,
                <TwoLines second={call.key_name || `…${call.key_id.slice(-8)}`}>
                  <AccountLink id={call.account_id} name={call.account_name} isLine />
                </TwoLines>,
              ),
            )}
            of="Customer"
            sort={{ ...order, onSort: (by, isAscending) => set(orderChange(by, isAscending)) }}
          />
        )}
      </CallListPanel>
    </>
  )
}

const STATUSES = [
  { value: '', name: 'Any' },
  ...CALL_STATUSES.map((status) => ({ value: status, name: status })),
]

const MORE = {
  account: { label: 'Customer', placeholder: 'email, organisation or acct_…' },
  key: { label: 'Key', placeholder: 'name or key_…' },
  model: { label: 'Model' },
  offer: { label: 'Offer' },
  request: { label: 'Request', placeholder: 'x-request-id' },
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
      q: {
        label: 'Search',
        className: 'field-wide',
        placeholder: 'call ID, customer, key, model, offer, status, tag',
        ...began('q'),
      },
      status: { label: 'Status', options: STATUSES, ...began('status') },
      days: { label: 'Period', options: SPANS, initial: filters.days ?? '30' },
      ...(Object.fromEntries(MORE_NAMES.map((name) => [name, { ...MORE[name], ...began(name) }])) as Record<
        keyof typeof MORE,
        FieldSpec
      >),
    },
    send: async ({ days, ...texts }) => {
      if (isCallId(texts.q)) await navigate({ to: '/admin/calls/$id', params: { id: texts.q } })
      else onFilter(readCallFilters({ ...texts, ...((filters.days ?? days !== '30') && { days }) }))
    },
  })
  return (
    <Form form={form}>
      <div className="toolbar">
        {input('q')}
        {input('status')}
        {input('days')}
        <div className="row">
          <Button>Search</Button>
          <Button onClick={() => onFilter({})}>Clear</Button>
        </div>
      </div>
      <details className="disclosure" open={MORE_NAMES.some((name) => filters[name] !== undefined)}>
        <summary>More filters: customer, key, model, offer, request, duration</summary>
        <div className="toolbar">{MORE_NAMES.map((name) => input(name))}</div>
      </details>
    </Form>
  )
}
