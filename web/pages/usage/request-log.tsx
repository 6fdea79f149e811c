import { useQuery } from '@tanstack/react-query'
import { Download, ListX } from 'lucide-react'
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
import { useSettledText } from '../../components/form/use-settled-text.ts'
import { CallTable } from '../../components/table/call-table.tsx'
import { ListPanel } from '../../components/table/data-table.tsx'

const STATUSES = [
  { value: 'completed', name: 'Completed' },
  { value: 'failed', name: 'Failed' },
  { value: 'cancelled', name: 'Cancelled' },
  { value: 'interrupted', name: 'Interrupted' },
]

const PAGE = 25

/** The filters of the log that are in the address. */
type LogFilters = Pick<CallFilters, 'id' | 'tag' | 'model' | 'key_id' | 'member_id' | 'status'>

/** Request by request: searched and filtered. */
export function RequestLog(props: {
  filters: CallFilters
  /** The models of the period. */
  models: string[]
  zone: string
  /** The account is an organisation. */
  hasMembers: boolean
  onChange: (changed: LogFilters) => void
}) {
  const { filters, models, zone, hasMembers, onChange } = props
  const members = useQuery({ ...membersQuery, enabled: hasMembers })
  const { data: session } = useQuery(sessionQuery)
  const keys = useQuery({ ...keysQuery, enabled: session?.permissions.includes('keys') ?? false })
  const keyNames = useMemo(() => new Map(keys.data?.data.map(({ id, name }) => [id, name])), [keys.data])
  const select = (label: string, name: keyof LogFilters, options: readonly SelectOption[]) => (
    <SelectField
      label={label}
      value={filters[name] ?? ''}
      options={[{ value: '', name: 'Any' }, ...options]}
      onChange={(value) => onChange({ [name]: value || undefined })}
    />
  )
  const known =
    filters.model === undefined || models.includes(filters.model) ? models : [...models, filters.model]
  const [id, setId] = useSettledText(filters.id ?? '', (text) => onChange({ id: text || undefined }))
  const [tag, setTag] = useSettledText(filters.tag ?? '', (text) => onChange({ tag: text || undefined }))
  return (
    <div id="requests" className="scroll-mt-20">
      <ListPanel
        title="Requests"
        actions={
          <a href={callsCsvPath(filters)} className="button button-small" download>
            <Download size={16} aria-hidden="true" />
            Export CSV
          </a>
        }
        filters={
          <div className="panel-body toolbar">
            <TextField
              className="field-wide"
              label="Request ID"
              type="search"
              placeholder="chatcmpl_… or your x-request-id"
              value={id}
              onChange={setId}
              spellCheck={false}
            />
            <TextField
              label="Tag"
              type="search"
              placeholder="App or name=value"
              value={tag}
              onChange={setTag}
              spellCheck={false}
            />
            {select(
              'Model',
              'model',
              known.map((model) => ({ value: model, name: model })),
            )}
            {select(
              'API key',
              'key_id',
              [...keyNames].map(([value, name]) => ({ value, name: name || value })),
            )}
            {hasMembers &&
              select(
                'Member',
                'member_id',
                (members.data?.data ?? []).map((one) => ({ value: one.id, name: one.email })),
              )}
            {select('Status', 'status', STATUSES)}
          </div>
        }
        query={callsQuery(filters, PAGE)}
        icon={ListX}
        empty="No requests match. Choose a longer period or remove a filter; a request appears about a second after its end."
      >
        {(calls) => <CallTable calls={calls} keyNames={keyNames} zone={zone} />}
      </ListPanel>
    </div>
  )
}
