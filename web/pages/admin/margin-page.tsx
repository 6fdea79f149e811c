import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Percent } from 'lucide-react'
import { type ReactNode, useMemo } from 'react'
import type { MarginFigures, MarginView } from '../../../src/core/api/billing.ts'
import { marginQuery } from '../../api/operator-queries.ts'
import { ChoiceField } from '../../components/choice-field.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Money } from '../../components/money.tsx'
import { PageHead } from '../../components/page-head.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { formatDay, lastDays } from '../../lib/dates.ts'
import { formatCount } from '../../lib/figures.ts'
import { formatShare } from '../../lib/operator-figures.ts'
import { ModelFinder } from './models/model-finder.tsx'

type Group = MarginView['group_by']

const SPANS = [
  { value: '1', name: 'Today (UTC)' },
  { value: '7', name: '7 days' },
  { value: '30', name: '30 days' },
]
const GROUPS: Array<{ value: Group; name: string }> = [
  { value: 'model', name: 'Model' },
  { value: 'provider', name: 'Provider' },
  { value: 'day', name: 'Day' },
]

/** What clients paid, what providers take for it, and what is left. */
export function MarginPage() {
  const { days, group } = useSearch({ from: '/operator/admin/models/' })
  const navigate = useNavigate({ from: '/admin/models/' })
  const span = SPANS.find(({ value }) => value === days)?.value ?? '30'
  const by = GROUPS.find(({ value }) => value === group)?.value ?? 'model'
  const range = useMemo(() => lastDays(Number(span), new Date()), [span])
  const query = useQuery(marginQuery(range, by))
  const show = (change: { days?: string; group?: string }) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  return (
    <>
      <PageHead
        title="Models and margin"
        description="What clients paid, what providers take for it at the cost rates of that time, and what is left."
      />
      <ModelFinder />
      <div className="toolbar">
        <ChoiceField label="Span" value={span} options={SPANS} onChange={(value) => show({ days: value })} />
        <ChoiceField label="By" value={by} options={GROUPS} onChange={(value) => show({ group: value })} />
      </div>
      <QueryView query={query}>{(margin) => <Margin margin={margin} />}</QueryView>
    </>
  )
}

function Margin({ margin }: { margin: MarginView }) {
  const { total, data, group_by: by } = margin
  return (
    <>
      <dl className="figures">
        <Figure name="Calls">{formatCount(total.calls)}</Figure>
        <Figure name="Revenue">
          <Money usd={total.revenue_usd} />
        </Figure>
        <Figure name="Cost">
          <Money usd={total.cost_usd} />
        </Figure>
        <Figure name="Cost of broken attempts">
          <Money usd={total.broken_cost_usd} />
        </Figure>
        <Figure name="Margin">
          <Money usd={total.margin_usd} />
        </Figure>
        <Figure name="Margin of revenue">{rate(total)}</Figure>
      </dl>
      <Panel title={`By ${by}`}>
        {data.length === 0 ? (
          <EmptyState icon={Percent}>No calls in this span. Choose a longer one.</EmptyState>
        ) : (
          <DataTable
            caption={`Margin by ${by}`}
            rows={data}
            rowKey={({ group }) => group}
            columns={[
              {
                header: GROUPS.find(({ value }) => value === by)?.name ?? by,
                title: true,
                cell: ({ group }) => <GroupName by={by} group={group} />,
              },
              { header: 'Calls', numeric: true, cell: ({ calls }) => formatCount(calls) },
              {
                header: 'Tokens in / out',
                numeric: true,
                cell: (row) => `${formatCount(row.prompt_tokens)} / ${formatCount(row.completion_tokens)}`,
              },
              { header: 'Revenue', numeric: true, cell: ({ revenue_usd: usd }) => <Money usd={usd} /> },
              { header: 'Cost', numeric: true, cell: ({ cost_usd: usd }) => <Money usd={usd} /> },
              {
                header: 'Broken attempts',
                numeric: true,
                cell: ({ broken_cost_usd: usd }) => <Money usd={usd} />,
              },
              { header: 'Margin', numeric: true, cell: ({ margin_usd: usd }) => <Money usd={usd} /> },
              { header: 'Of revenue', numeric: true, cell: (row) => rate(row) },
            ]}
          />
        )}
      </Panel>
    </>
  )
}

function GroupName({ by, group }: { by: Group; group: string }) {
  if (by === 'day') return formatDay(group)
  // Calls that no provider served have none to be named by.
  if (group === '' || group === '-') return <span className="muted">served by none</span>
  return by === 'model' ? (
    <Link to="/admin/models/$" params={{ _splat: group }}>
      {group}
    </Link>
  ) : (
    <Link to="/admin/providers/$id" params={{ id: group }}>
      {group}
    </Link>
  )
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="figure">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

const rate = ({ margin_rate: share }: MarginFigures): string => (share === null ? '–' : formatShare(share))
