import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, ListX } from 'lucide-react'
import { useMemo } from 'react'
import type { UsageView } from '../../src/core/api/usage.ts'
import { type CallFilters, callsPath, callsQuery, keysQuery, usageQuery } from '../api/queries.ts'
import { CallTable } from '../components/call-table.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { Money } from '../components/money.tsx'
import { PageHead } from '../components/page-head.tsx'
import { PageList } from '../components/page-list.tsx'
import { Panel } from '../components/panel.tsx'
import { QueryView } from '../components/query-view.tsx'
import { SelectField } from '../components/select-field.tsx'
import { SpendByDay } from '../components/spend-by-day.tsx'
import { lastDays } from '../lib/dates.ts'
import { formatCount } from '../lib/figures.ts'
import { SpendBars } from './usage/spend-bars.tsx'

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

/** What was used and what it cost: by day, by model, by key, and call by call. */
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
        description="Every figure is the one you were charged. Days are UTC."
        actions={
          <SelectField
            label="Span"
            value={String(days)}
            options={SPANS}
            onChange={(value) => set({ days: value === '30' ? undefined : value })}
          />
        }
      />
      <QueryView query={byDay}>{(usage) => <Totals usage={usage} />}</QueryView>
      <Panel title="Cost by day">
        <div className="panel-body">
          <QueryView query={byDay} loading={<span className="skeleton skeleton-block" />}>
            {(usage) => <SpendByDay usage={usage} />}
          </QueryView>
        </div>
      </Panel>
      <div className="grid-2">
        <Panel title="Cost by model">
          <QueryView query={byModel}>
            {(usage) => <SpendBars usage={usage} name={(row) => row.model ?? ''} label="Cost by model" />}
          </QueryView>
        </Panel>
        <Panel title="Cost by key">
          <QueryView query={byKey}>
            {(usage) => (
              <SpendBars usage={usage} name={(row) => row.key_name ?? row.key_id ?? ''} label="Cost by key" />
            )}
          </QueryView>
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

function Totals({ usage: { total } }: { usage: UsageView }) {
  return (
    <dl className="figures">
      <div className="figure">
        <dt>Cost</dt>
        <dd>
          <Money usd={total.cost_usd} />
        </dd>
      </div>
      <div className="figure">
        <dt>Calls</dt>
        <dd>{formatCount(total.calls)}</dd>
      </div>
      <div className="figure">
        <dt>Tokens in</dt>
        <dd>{formatCount(total.prompt_tokens)}</dd>
      </div>
      <div className="figure">
        <dt>Tokens out</dt>
        <dd>{formatCount(total.completion_tokens)}</dd>
      </div>
    </dl>
  )
}

function Calls(props: {
  filters: CallFilters
  models: string[]
  onChange: (changed: { model?: string; key_id?: string; status?: string }) => void
}) {
  const { filters, models, onChange } = props
  const query = useInfiniteQuery(callsQuery(filters, CALLS_PAGE))
  const keys = useQuery(keysQuery)
  const keyNames = useMemo(() => new Map(keys.data?.data.map(({ id, name }) => [id, name])), [keys.data])
  const any = { value: '', name: 'Any' }
  const known =
    filters.model === undefined || models.includes(filters.model) ? models : [...models, filters.model]
  return (
    <Panel
      title="Calls"
      actions={
        <a href={callsPath(filters, '.csv')} className="button button-small" download>
          <Download size={16} aria-hidden="true" />
          Download CSV
        </a>
      }
    >
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
      <PageList
        query={query}
        empty={
          <EmptyState icon={ListX}>
            No calls here. Choose a longer span or fewer filters; a call appears about a second after its end.
          </EmptyState>
        }
      >
        {(calls) => <CallTable calls={calls} keyNames={keyNames} />}
      </PageList>
    </Panel>
  )
}
