import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Form } from '../../../components/form.tsx'
import { SelectField } from '../../../components/select-field.tsx'
import { TextField } from '../../../components/text-field.tsx'
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

/** What to look for among calls. The id of a call leads to it at once. */
export function CallFilterForm(props: {
  filters: OperatorCallFilters
  onFilter: (filters: OperatorCallFilters) => void
}) {
  const { filters, onFilter } = props
  const navigate = useNavigate()
  const [id, setId] = useState('')
  const [texts, setTexts] = useState<Record<string, string>>({ ...filters } as Record<string, string>)
  const field = (name: keyof OperatorCallFilters) => ({
    value: texts[name] ?? '',
    onChange: (text: string) => setTexts((before) => ({ ...before, [name]: text })),
  })
  const idProblem = id !== '' && !isCallId(id.trim()) ? 'Ids of calls begin with chatcmpl_.' : null
  const [isChecked, setIsChecked] = useState(false)
  const submit = () => {
    setIsChecked(true)
    if (idProblem) return
    if (id !== '') void navigate({ to: '/admin/calls/$id', params: { id: id.trim() } })
    else onFilter(readCallFilters(texts))
  }
  return (
    <Form className="form" error={null} onSubmit={submit}>
      <div className="toolbar">
        <TextField
          className="field-wide"
          label="Id of a call"
          value={id}
          onChange={setId}
          placeholder="chatcmpl_…"
          error={isChecked ? idProblem : null}
        />
        <SelectField label="Status" options={STATUSES} {...field('status')} />
        <SelectField label="Span" options={SPANS} {...field('days')} value={texts.days ?? '30'} />
        <div className="button-row">
          <button type="submit" className="button button-primary">
            Search
          </button>
          <button type="button" className="button" onClick={() => onFilter({})}>
            Clear
          </button>
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
