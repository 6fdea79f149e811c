import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Route } from 'lucide-react'
import { useMemo } from 'react'
import { operatorCallsQuery } from '../../api/operator-queries.ts'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { PageList } from '../../components/table/data-table.tsx'
import { lastDays } from '../../lib/format.ts'
import { CallFilterForm } from './calls/call-filter-form.tsx'
import { OperatorCallTable } from './calls/operator-call-table.tsx'

/** The calls of all accounts, searched. */
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
        description="Settled calls of all accounts, newest first; the list updates itself. A running call is found by its id."
      />
      <CallFilterForm
        // New fields for new filters in the address.
        key={JSON.stringify(filters)}
        filters={filters}
        onFilter={(search) => void navigate({ search })}
      />
      <Panel title={isFiltered ? 'Calls found' : 'All calls'}>
        <PageList
          query={query}
          icon={Route}
          empty={
            isFiltered
              ? 'No settled call matches. Remove a filter, or choose a longer span.'
              : 'No calls yet. They appear here about a second after they end.'
          }
        >
          {(calls) => <OperatorCallTable calls={calls} />}
        </PageList>
      </Panel>
    </>
  )
}
