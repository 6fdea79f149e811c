import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Route } from 'lucide-react'
import { useMemo } from 'react'
import { operatorCallsQuery } from '../../api/operator-queries.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { PageHead } from '../../components/page-head.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Panel } from '../../components/panel.tsx'
import { lastDays } from '../../lib/dates.ts'
import { CallFilterForm } from './calls/call-filter-form.tsx'
import { OperatorCallTable } from './calls/operator-call-table.tsx'

/** The calls of everybody, searched. */
export function OperatorCallsPage() {
  const filters = useSearch({ from: '/operator/admin/calls' })
  const navigate = useNavigate({ from: '/admin/calls' })
  const { from } = useMemo(() => lastDays(Number(filters.days ?? '30'), new Date()), [filters.days])
  const query = useInfiniteQuery(operatorCallsQuery(filters, from))
  const isFiltered = Object.keys(filters).length > 0
  return (
    <>
      <PageHead
        title="Calls"
        description="Settled calls of all accounts, newest first; new ones come by themselves. A call that still runs is found by its id."
      />
      <CallFilterForm
        // The fields begin anew with what the address has.
        key={JSON.stringify(filters)}
        filters={filters}
        onFilter={(search) => void navigate({ search })}
      />
      <Panel title={isFiltered ? 'Calls found' : 'All calls'}>
        <PageList
          query={query}
          empty={
            <EmptyState icon={Route}>
              {isFiltered
                ? 'No settled call fits. Take a filter away, or look at a longer span.'
                : 'No calls yet. They appear here about a second after they end.'}
            </EmptyState>
          }
        >
          {(calls) => <OperatorCallTable calls={calls} />}
        </PageList>
      </Panel>
    </>
  )
}
