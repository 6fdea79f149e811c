import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import {
  type CallFilters,
  callsCsvPath,
  callsQuery,
  keysQuery,
  membersQuery,
  sessionQuery,
} from '../../api/queries.ts'
import { SelectField, type SelectOption, TextField } from '../../components/form/fields.tsx'
import { SearchField } from '../../components/form/search-field.tsx'
import { CallListPanel } from '../../components/table/call-list-panel.tsx'
import { accountCallRow, CallTable } from '../../components/table/call-table.tsx'
import { type CallPlace, orderChange, placeQuery, readOrder } from '../../lib/calls/call-order.ts'
import { PAGE_ROWS } from '../../lib/rows-of-page.ts'
import { momentIn } from '../../lib/time-zone.ts'

const STATUSES = [
  { value: 'completed', name: 'Completed' },
  { value: 'failed', name: 'Failed' },
  { value: 'cancelled', name: 'Cancelled' },
  { value: 'interrupted', name: 'Interrupted' },
]

const optionsOf = (named: ReadonlyArray<readonly [value: string, name: string]>): SelectOption[] =>
  named.map(([value, name]) => ({ value, name: name || value }))

/** The filters of the log that are in the address. */
type LogFilters = Pick<CallFilters, 'q' | 'model' | 'key_id' | 'member_id' | 'status'>

/** Request by request: searched, filtered, sorted, and page by page. */
export function RequestLog(props: {
  filters: CallFilters & { from: string; to: string }
  place: CallPlace
  /** The models of the period. */
  models: string[]
  zone: string
  /** The account is an organisation. */
  hasMembers: boolean
  onChange: (changed: LogFilters & CallPlace) => void
}) {
  const { filters, place, models, zone, hasMembers, onChange } = props
  const members = useQuery({ ...membersQuery, enabled: hasMembers })
  const { data: session } = useQuery(sessionQuery)
  const keys = useQuery({ ...keysQuery, enabled: session?.permissions.includes('keys') ?? false })
  const keyNames = useMemo(() => new Map(keys.data?.data.map(({ id, name }) => [id, name])), [keys.data])
  // Other calls have other pages.
  const filter = (changed: LogFilters) => onChange({ ...changed, cursor: undefined })
  const order = readOrder(place)
  const select = (label: string, name: keyof LogFilters, options: readonly SelectOption[]) => (
    <SelectField
      label={label}
      value={filters[name] ?? ''}
      options={[{ value: '', name: 'Any' }, ...options]}
      onChange={(value) => filter({ [name]: value || undefined })}
    />
  )
  const known =
    filters.model === undefined || models.includes(filters.model) ? models : [...models, filters.model]
  const people = (members.data?.data ?? []).map(({ id, email }) => [id, email] as const)
  return (
    <div id="requests" className="scroll-mt-20">
      <CallListPanel
        noun="request"
        title="Requests"
        actions={
          <a className="button button-small" href={callsCsvPath(filters)} download>
            Export CSV
          </a>
        }
        filters={
          <div className="panel-body toolbar">
            <SearchField
              placeholder="ID, model, key, status or tag"
              value={filters.q}
              onSearch={(q) => filter({ q })}
            />
            {select('Model', 'model', optionsOf(known.map((model) => [model, model])))}
            {select('API key', 'key_id', optionsOf([...keyNames]))}
            {hasMembers && select('Member', 'member_id', optionsOf(people))}
            {select('Status', 'status', STATUSES)}
            {order.by === 'time' && (
              <TextField
                label="Go to"
                type="datetime-local"
                value={place.at ?? ''}
                onChange={(at) => onChange({ at: at || undefined, cursor: undefined })}
              />
            )}
          </div>
        }
        query={callsQuery(
          filters,
          PAGE_ROWS,
          placeQuery(place, (at) => momentIn(zone, at)),
        )}
        isByTime={order.by === 'time'}
        zone={zone}
        onCursor={(cursor) => onChange({ cursor })}
        empty="No requests match. Choose a longer period or remove a filter; a request appears about a second after its end."
      >
        {(calls) => (
          <CallTable
            rows={calls.map((call) => accountCallRow(call, keyNames))}
            of="Key"
            zone={zone}
            sort={{ ...order, onSort: (by, isAscending) => onChange(orderChange(by, isAscending)) }}
          />
        )}
      </CallListPanel>
    </div>
  )
}
