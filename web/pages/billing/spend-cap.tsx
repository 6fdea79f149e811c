import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { SpendCapBody, SpendCapView } from '../../../src/core/api/budgets.ts'
import { spendCapQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { QueryView } from '../../components/feedback/messages.tsx'
import { PageForm } from '../../components/form/form.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { BudgetBar } from '../../components/text/budget-bar.tsx'
import { Money } from '../../components/text/money.tsx'
import { spendingLimitProblem } from '../../lib/checks.ts'
import { formatMoment } from '../../lib/format.ts'

/** What all keys together may spend in a month, and what they spent of it. */
export const SpendCapPanel = () => (
  <Panel title="Monthly spend cap" padded>
    <QueryView query={useQuery(spendCapQuery)}>
      {(cap) => (
        <>
          <SpentThisMonth cap={cap} />
          <SpendCapForm key={cap.limit_usd} cap={cap} />
        </>
      )}
    </QueryView>
  </Panel>
)

function SpentThisMonth({ cap }: { cap: SpendCapView }) {
  const { limit_usd: limit, spent_usd: spent, remaining_usd: left } = cap
  if (limit === null)
    return (
      <p>
        <Money usd={spent} /> spent this month. There is no cap.
      </p>
    )
  return (
    <div className="stack-tight">
      <p>
        <Money usd={spent} /> of <Money usd={limit} /> spent this month, <Money usd={left} /> left.
      </p>
      <BudgetBar spent={spent} limit={limit} />
      <p className="text-sm text-muted">Resets {formatMoment(cap.resets_at)}.</p>
    </div>
  )
}

function SpendCapForm({ cap }: { cap: SpendCapView }) {
  const client = useQueryClient()
  return (
    <PageForm
      fields={{
        limit_usd: {
          label: 'Cap per month (USD)',
          initial: cap.limit_usd ?? '',
          inputMode: 'decimal',
          placeholder: 'no cap',
          hint: 'For all API keys together. Requests that could exceed it are refused until the month (UTC) is over. Leave empty for no cap.',
          check: spendingLimitProblem,
        },
      }}
      send={({ limit_usd: usd }) =>
        requestJson<SpendCapView>('PATCH', '/console/api/spend-cap', {
          limit_usd: usd || null,
        } satisfies SpendCapBody)
      }
      done={({ limit_usd: limit }) => (limit === null ? 'Spend cap removed.' : 'Spend cap saved.')}
      onDone={(changed) => client.setQueryData(spendCapQuery.queryKey, changed)}
    />
  )
}
