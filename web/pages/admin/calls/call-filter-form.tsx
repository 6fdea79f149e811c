import { useNavigate } from '@tanstack/react-router'
import { Button } from '../../../components/form/button.tsx'
import { SelectField } from '../../../components/form/choice-fields.tsx'
import { Form, useForm } from '../../../components/form/form.tsx'
import { TextField } from '../../../components/form/text-field.tsx'
import {
  CALL_SPANS,
  CALL_STATUSES,
  isCallId,
  type OperatorCallFilters,
  readCallFilters,
} from '../../../lib/call-filters.ts'

const STATUSES = [
  { value: '', name: 'Any' },
  ...CALL_STATUSES.map((status) => ({ value: status, name: status })),
]
const SPANS = CALL_SPANS.map((days) => ({
  value: days,
  name: days === '1' ? 'Today (UTC)' : `${days} days`,
}))

const MORE = ['request', 'account', 'key', 'model', 'offer', 'min_duration_ms'] as const
const FIELDS = [...MORE, 'status', 'days'] as const

/** The filters of the list of calls. The id of a call leads to that call. */
export function CallFilterForm(props: {
  filters: OperatorCallFilters
  onFilter: (filters: OperatorCallFilters) => void
}) {
  const { filters, onFilter } = props
  const navigate = useNavigate()
  const form = useForm({
    initial: { id: '', ...Object.fromEntries(FIELDS.map((name) => [name, filters[name] ?? ''])) } as Record<
      'id' | (typeof FIELDS)[number],
      string
    >,
    check: ({ id }) => ({
      id: id !== '' && !isCallId(id.trim()) ? 'Ids of calls begin with chatcmpl_.' : null,
    }),
    send: async ({ id, ...texts }) => {
      if (id !== '') await navigate({ to: '/admin/calls/$id', params: { id: id.trim() } })
      else onFilter(readCallFilters(texts))
    },
  })
  const { field } = form
  return (
    <Form form={form}>
      <div className="toolbar">
        <TextField className="field-wide" label="Id of a call" {...field('id')} placeholder="chatcmpl_…" />
        <SelectField label="Status" options={STATUSES} {...field('status')} />
        <SelectField label="Span" options={SPANS} {...field('days')} value={form.values.days || '30'} />
        <div className="button-row">
          <button type="submit" className="button button-primary">
            Search
          </button>
          <Button onClick={() => onFilter({})}>Clear</Button>
        </div>
      </div>
      <details className="disclosure" open={MORE.some((name) => filters[name] !== undefined)}>
        <summary>By request, account, key, model, offer or duration</summary>
        <div className="toolbar">
          <TextField label="Request" {...field('request')} placeholder="x-request-id" />
          <TextField label="Account" {...field('account')} placeholder="acct_…" />
          <TextField label="Key" {...field('key')} placeholder="key_…" />
          <TextField label="Model" {...field('model')} />
          <TextField label="Offer" {...field('offer')} />
          <TextField label="At least, ms" inputMode="numeric" {...field('min_duration_ms')} />
        </div>
      </details>
    </Form>
  )
}
