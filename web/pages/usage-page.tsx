import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, ListX } from 'lucide-react'
import { useMemo } from 'react'
import type { UsageRowView, UsageView } from '../../src/core/api/usage.ts'
import { type CallFilters, callsCsvPath, callsQuery, keysQuery, usageQuery } from '../api/queries.ts'
import { SpendByDay } from '../components/chart/spend-by-day.tsx'
import { QueryView } from '../components/feedback/messages.tsx'
import { SelectField } from '../components/form/fields.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { CallTable } from '../components/table/call-table.tsx'
import { ListPanel } from '../components/table/data-table.tsx'
import { Money, Stats } from '../components/text/values.tsx'
import { approximateAmount, formatCount, lastDays, plural } from '../lib/format.ts'

const SPANS = [
  { value: '1', name: 'Today' },
  { value: '7', name: 'Last 7 days' },
  { value: '30', name: 'Last 30 days' },
  { value: '90', name: 'Last 90 days' },
  { value: '365', name: 'Last 365 days' },
]

const STATUSES = [
  { value: '', name: 'Any' },
  { value: 'completed', name: 'Completed' },
  { value: 'failed', name: 'Failed' },
  { value: 'cancelled', name: 'Cancelled' },
  { value: 'interrupted', name: 'Interrupted' },
]

const CALLS_PAGE = 25
const BARS_SHOWN = 8

/** Usage and cost: by day, by model, by key and call by call. */
export function UsagePage() {
  const search = useSearch({ from: '/account/usage' })
  const navigate = useNavigate({ from: '/usage' })
  const days = SPANS.some(({ value }) => value === search.days) ? Number(search.days) : 30
  const span = useMemo(() => lastDays(days, new Date()), [days])
  const byDay = useQuery(usageQuery(span, 'day'))
  const byModel = useQuery(usageQuery(span, 'model'))
  const byKey = useQuery(usageQuery(span, 'key'))
  const set = (changed: Partial<typeof search>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true, resetScroll: false })
  return (
    <>
      <PageHead
        title="Usage"
        description="Exact amounts, as charged. Days are UTC."
        actions={
          <SelectField
            label="Period"
            value={String(days)}
            options={SPANS}
            onChange={(value) => set({ days: value === '30' ? undefined : value })}
          />
        }
      />
      <QueryView query={byDay}>
        {({ total }) => (
          <Stats
            rows={{
              Cost: <Money usd={total.cost_usd} />,
              Calls: formatCount(total.calls),
              'Input tokens': formatCount(total.prompt_tokens),
              'Output tokens': formatCount(total.completion_tokens),
            }}
          />
        )}
      </QueryView>
      <Panel title="Cost by day" padded>
        <QueryView query={byDay} loading={<span className="skeleton h-56" />}>
          {(usage) => <SpendByDay usage={usage} />}
        </QueryView>
      </Panel>
      <div className="columns">
        <Panel title="Cost by model">
          <QueryView query={byModel}>{(usage) => <SpendBars usage={usage} />}</QueryView>
        </Panel>
        <Panel title="Cost by key">
          <QueryView query={byKey}>{(usage) => <SpendBars usage={usage} />}</QueryView>
        </Panel>
      </div>
      <Calls
        filters={{ ...span, model: search.model, key_id: search.key_id, status: search.status }}
        models={(byModel.data?.data ?? []).flatMap(({ model }) => model ?? [])}
        onChange={set}
      />
    </>
  )
}

function Calls(props: {
  filters: CallFilters
  models: string[]
  onChange: (changed: { model?: string; key_id?: string; status?: string }) => void
}) {
  const { filters, models, onChange } = props
  const keys = useQuery(keysQuery)
  const keyNames = useMemo(() => new Map(keys.data?.data.map(({ id, name }) => [id, name])), [keys.data])
  const any = { value: '', name: 'Any' }
  const known =
    filters.model === undefined || models.includes(filters.model) ? models : [...models, filters.model]
  return (
    <ListPanel
      title="Calls"
      actions={
        <a href={callsCsvPath(filters)} className="button button-small" download>
          <Download size={16} aria-hidden="true" />
          Download CSV
        </a>
      }
      filters={
        <div className="panel-body toolbar">
          <SelectField
            label="Model"
            value={filters.model ?? ''}
            options={[any, ...known.map((model) => ({ value: model, name: model }))]}
            onChange={(model) => onChange({ model: model || undefined })}
          />
          <SelectField
            label="Key"
            value={filters.key_id ?? ''}
            options={[any, ...[...keyNames].map(([value, name]) => ({ value, name }))]}
            onChange={(id) => onChange({ key_id: id || undefined })}
          />
          <SelectField
            label="Status"
            value={filters.status ?? ''}
            options={STATUSES}
            onChange={(status) => onChange({ status: status || undefined })}
          />
        </div>
      }
      query={callsQuery(filters, CALLS_PAGE)}
      icon={ListX}
      empty="No calls found. Choose a longer period or remove a filter. A call appears about a second after it ends."
    >
      {(calls) => <CallTable calls={calls} keyNames={keyNames} />}
    </ListPanel>
  )
}

/** Spend by model or key, highest cost first: a list that is also a chart. */
function SpendBars({ usage }: { usage: UsageView }) {
  const label = `Cost by ${usage.group_by}`
  const name = (row: UsageRowView) => row.model ?? row.key_name ?? row.key_id ?? ''
  const rows = usage.data.toSorted((a, b) => approximateAmount(b.cost_usd) - approximateAmount(a.cost_usd))
  const largest = approximateAmount(rows[0]?.cost_usd ?? '0') || 1
  if (rows.length === 0) return <p className="panel-body text-muted">No calls in this period.</p>
  const bars = rows.map((row) => (
    <li
      key={name(row)}
      className="grid grid-cols-[minmax(0,1fr)_max-content] gap-x-4 gap-y-1 text-[0.875rem]"
    >
      <span className="wrap-anywhere">
        {name(row)} <span className="text-sm text-muted">{plural(row.calls, 'call')}</span>
      </span>
      <Money usd={row.cost_usd} />
      <span className="col-span-full h-2 overflow-hidden rounded-full bg-sunken" aria-hidden="true">
        <span
          className="block h-full min-w-0.5 rounded-full bg-accent-fill"
          style={{ width: `${(approximateAmount(row.cost_usd) / largest) * 100}%` }}
        />
      </span>
    </li>
  ))
  return (
    <div className="panel-body">
      <ul className="stack gap-3" aria-label={label}>
        {bars.slice(0, BARS_SHOWN)}
      </ul>
      {bars.length > BARS_SHOWN && (
        <details className="disclosure">
          <summary>{plural(bars.length - BARS_SHOWN, 'more', 'more')}</summary>
          <ul className="stack gap-3" aria-label={`${label}, the rest`}>
            {bars.slice(BARS_SHOWN)}
          </ul>
        </details>
      )}
    </div>
  )
}
