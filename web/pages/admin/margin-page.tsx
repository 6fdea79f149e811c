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
import { SPANS } from '../../lib/calls/call-filters.ts'
import {
  approximateAmount,
  axisAmount,
  daysBetween,
  daysOf,
  formatCount,
  formatDay,
  formatShare,
  formatShortDay,
  lastDays,
} from '../../lib/format.ts'
import { OTHERS, seriesFills } from '../../lib/usage-view.ts'
import { AccountLink, ModelLink, ProviderLink } from './links.tsx'

type Group = MarginView['group_by']

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
        {(margin) => <Margin margin={margin} range={range} />}
      </QueryView>
    </>
  )
}

/** The margin day by day, stacked by model; what was lost on models is a red bar in front. */
function MarginByDay({ days, range }: { days: MarginView['days']; range: ReturnType<typeof lastDays> }) {
  const { first, last } = daysOf(range)
  const models = [...new Set(days.map(({ model }) => model))].toSorted().reverse()
  const fillOf = seriesFills(models)
  const marginOf = (day: string, model: string) =>
    days.find((row) => row.day === day && row.model === model)?.margin_usd ?? '0.00'
  if (first === last || days.length === 0) return null
  return (
    <Panel title="Margin by day and model" padded>
      <ChartFigure
        caption="Margin by day and model."
        keys={
          <>
            {models.map((model) => (
              <ChartKey key={model} colour={fillOf(model)}>
                {nameOf(model)}
              </ChartKey>
            ))}
            <ChartKey colour="bg-bad-fill">loss</ChartKey>
          </>
        }
        chart={{
          points: daysBetween(first, last).map((day) => {
            const values = models.map((model) => approximateAmount(marginOf(day, model)))
            const sumOf = (sign: 1 | -1) => values.reduce((sum, value) => sum + Math.max(0, sign * value), 0)
            return {
              at: day,
              value: sumOf(1),
              errors: sumOf(-1),
              parts: models.map((model, index) => ({
                name: nameOf(model),
                value: Math.max(0, values[index] ?? 0),
                fill: fillOf(model),
              })),
              text: `${formatDay(day)}: margin ${axisAmount(sumOf(1))}, loss ${axisAmount(sumOf(-1))}`,
            }
          }),
          formatValue: axisAmount,
          formatLabel: formatShortDay,
        }}
        table={
          <DataTable
            caption="Margin by day (UTC) and model"
            rows={days}
            rowKey={({ day, model }) => `${day} ${model}`}
            columns={{
              Day: ({ day }) => formatDay(day),
              Model: ({ model }) => nameOf(model),
              Margin: ({ margin_usd: usd }) => <Money usd={usd} />,
            }}
            numeric={['Margin']}
          />
        }
      />
    </Panel>
  )
}

const nameOf = (model: string) => (model === OTHERS ? 'Other' : model === '-' ? 'no model' : model)

function Margin({ margin, range }: { margin: MarginView; range: ReturnType<typeof lastDays> }) {
  const { total, data, days, group_by: by, next_cursor: next } = margin
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
      <MarginByDay days={days} range={range} />
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
              ...COLUMNS,
            }}
            numeric={Object.keys(COLUMNS)}
            lead="Margin"
            brief={['Calls', 'Input / output tokens', 'Margin %']}
          />
        )}
      </Panel>
    </>
  )
}

const COLUMNS: Record<string, (row: MarginView['data'][number]) => ReactNode> = {
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
