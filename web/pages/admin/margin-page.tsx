import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Percent } from 'lucide-react'
import { type ReactNode, useMemo } from 'react'
import type { MarginMetrics, MarginView } from '../../../src/core/api/billing.ts'
import { marginQuery } from '../../api/operator-queries.ts'
import { pricingQuery } from '../../api/queries.ts'
import { ChartFigure, ChartKey } from '../../components/chart/chart-figure.tsx'
import { EmptyState, QueryView } from '../../components/feedback/messages.tsx'
import { ChoiceField } from '../../components/form/fields.tsx'
import { SearchForm } from '../../components/form/form.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { TokensInOut } from '../../components/table/call-table.tsx'
import { Counted, DataTable, TwoLines } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { Stats } from '../../components/text/values.tsx'
import {
  approximateAmount,
  axisAmount,
  daysBetween,
  daysOf,
  formatAmount,
  formatCount,
  formatDay,
  formatShare,
  formatShortDay,
  lastDays,
} from '../../lib/format.ts'
import { AccountLink, ModelLink, ProviderLink } from './links.tsx'

type Group = MarginView['group_by']

const SPANS = [
  { value: '1', name: 'Today (UTC)' },
  { value: '7', name: '7 days' },
  { value: '30', name: '30 days' },
]
const GROUPS: Array<{ value: Group; name: string }> = [
  { value: 'model', name: 'Model' },
  { value: 'provider', name: 'Provider' },
  { value: 'account', name: 'Account' },
  { value: 'day', name: 'Day' },
]

/** Revenue, cost and margin of calls. */
export function MarginPage() {
  const { days, group } = useSearch({ from: '/operator/admin/models/' })
  const navigate = useNavigate({ from: '/admin/models/' })
  const span = SPANS.find(({ value }) => value === days)?.value ?? '30'
  const by = GROUPS.find(({ value }) => value === group)?.value ?? 'model'
  const range = useMemo(() => lastDays(Number(span), new Date()), [span])
  const { data: feed } = useQuery(pricingQuery)
  const show = (change: { days?: string; group?: string }) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  return (
    <>
      <PageHead
        title="Models & margin"
        description="Revenue from customers, cost at providers, and the margin."
      />
      <SearchForm
        label="Model"
        button="Open"
        placeholder="vendor/model, to see or change its offers and prices"
        suggestions={feed?.data.map(({ id }) => ({ value: id })) ?? []}
        onSearch={(id) => id !== '' && void navigate({ to: '/admin/models/$', params: { _splat: id } })}
      />
      <div className="toolbar">
        <ChoiceField
          label="Period"
          value={span}
          options={SPANS}
          onChange={(value) => show({ days: value })}
        />
        <ChoiceField
          label="Group by"
          value={by}
          options={GROUPS}
          onChange={(value) => show({ group: value })}
        />
      </div>
      <QueryView query={useQuery(marginQuery(range, by))}>
        {(margin) => (
          <Margin margin={margin}>
            <MarginByDay range={range} />
          </Margin>
        )}
      </QueryView>
    </>
  )
}

/** Revenue day by day, as what providers were paid of it and what is left. */
function MarginByDay({ range }: { range: ReturnType<typeof lastDays> }) {
  const { first, last } = daysOf(range)
  const { data } = useQuery(marginQuery(range, 'day'))
  if (first === last || !data || data.data.length === 0) return null
  const known = new Map(data.data.map((row) => [row.group, row]))
  return (
    <Panel title="Margin by day" padded>
      <ChartFigure
        caption="Revenue by day: margin and cost."
        keys={
          <>
            <ChartKey colour="bg-series-8">cost</ChartKey>
            <ChartKey colour="bg-series-3">margin</ChartKey>
          </>
        }
        chart={{
          points: daysBetween(first, last).map((day) => {
            const row = known.get(day)
            const margin = approximateAmount(row?.margin_usd ?? '0')
            const cost = approximateAmount(row?.revenue_usd ?? '0') - margin
            return {
              at: day,
              value: Math.max(cost, cost + margin),
              parts: [
                { name: 'cost', value: cost, fill: 'fill-series-8 bg-series-8' },
                { name: 'margin', value: Math.max(0, margin), fill: 'fill-series-3 bg-series-3' },
              ],
              text: `${formatDay(day)}: margin ${row ? `${formatAmount(row.margin_usd)}, ${rate(row)}` : '$0.00'}`,
            }
          }),
          formatValue: axisAmount,
          formatLabel: formatShortDay,
        }}
        table={
          <DataTable
            caption="Margin by day (UTC)"
            rows={data.data}
            rowKey={({ group }) => group}
            columns={{
              Day: ({ group }) => formatDay(group),
              Revenue: ({ revenue_usd: usd }) => <Money usd={usd} />,
              Margin: ({ margin_usd: usd }) => <Money usd={usd} />,
            }}
            numeric={['Revenue', 'Margin']}
          />
        }
      />
    </Panel>
  )
}

function Margin({ margin, children }: { margin: MarginView; children: ReactNode }) {
  const { total, data, group_by: by, next_cursor: next } = margin
  return (
    <>
      <Stats
        rows={{
          Calls: formatCount(total.calls),
          Revenue: <Money usd={total.revenue_usd} />,
          Cost: <Money usd={total.cost_usd} />,
          'Cost of failed attempts': <Money usd={total.broken_cost_usd} />,
          Margin: <Money usd={total.margin_usd} />,
          'Margin %': rate(total),
          'Saved by prompt caches': <Money usd={total.cache_saved_usd} />,
        }}
      />
      {children}
      <Panel
        title={next === null ? `By ${by}` : `By ${by}: the ${formatCount(data.length)} with the most revenue`}
      >
        {data.length === 0 ? (
          <EmptyState icon={Percent}>No calls in this period.</EmptyState>
        ) : (
          <DataTable
            caption={`Margin by ${by}`}
            rows={data}
            rowKey={({ group }) => group}
            columns={{
              [GROUPS.find(({ value }) => value === by)?.name ?? by]: (row: MarginView['data'][number]) => (
                <GroupName by={by} row={row} />
              ),
              Calls: ({ calls }) => <Counted count={calls} name="calls" />,
              'Input / output tokens': (row) => <TokensInOut of={row} />,
              Revenue: ({ revenue_usd: usd }) => <Money usd={usd} />,
              Cost: ({ cost_usd: usd }) => <Money usd={usd} />,
              'Failed attempts': ({ broken_cost_usd: usd }) => <Money usd={usd} />,
              Margin: ({ margin_usd: usd }) => <Money usd={usd} />,
              'Margin %': (row) => rate(row),
              'Prompt caches saved': (row) => (
                <TwoLines second={cacheText(row)}>
                  <Money usd={row.cache_saved_usd} />
                </TwoLines>
              ),
            }}
            numeric={[
              'Calls',
              'Input / output tokens',
              'Revenue',
              'Cost',
              'Failed attempts',
              'Margin',
              'Margin %',
              'Prompt caches saved',
            ]}
            lead="Margin"
            brief={['Calls', 'Input / output tokens', 'Margin %']}
          />
        )}
      </Panel>
    </>
  )
}

function GroupName({ by, row: { group, name } }: { by: Group; row: MarginView['data'][number] }) {
  if (by === 'day') return formatDay(group)
  // No provider served these calls.
  if (group === '' || group === '-') return <span className="text-muted">no provider</span>
  if (by === 'account') return <AccountLink id={group} name={name} />
  return by === 'model' ? <ModelLink id={group} /> : <ProviderLink id={group} />
}

/** Of prompts that are long enough for a cache: the hit rate, and what a million tokens of them cost. */
const cacheText = ({ cache_hit_rate: hits, effective_prompt: price }: MarginMetrics): string | undefined =>
  hits === null || price === null ? undefined : `${formatShare(hits)} hits, $${price} / M`

const rate = ({ margin_rate: share }: MarginMetrics): string => (share === null ? '–' : formatShare(share))
