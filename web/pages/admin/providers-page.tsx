import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { PlugZap } from 'lucide-react'
import { providersQuery } from '../../api/operator-queries.ts'
import { ChoiceField } from '../../components/choice-field.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { PageHead } from '../../components/page-head.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { busyFirst, isAmiss } from '../../lib/providers.ts'
import { ProviderTable } from './providers/provider-table.tsx'

const WHICH = [
  { value: 'ours', name: 'With our key' },
  { value: 'all', name: 'All' },
]

/** Every provider: how calls to it end, and what is held back. */
export function ProvidersPage() {
  const { all } = useSearch({ from: '/operator/admin/providers' })
  const navigate = useNavigate({ from: '/admin/providers' })
  const query = useQuery(providersQuery)
  return (
    <>
      <PageHead
        title="Providers"
        description="How attempts at each end, over all workers. The page keeps itself current."
      />
      <ChoiceField
        label="Show"
        value={all ? 'all' : 'ours'}
        options={WHICH}
        onChange={(value) => void navigate({ search: value === 'all' ? { all: '1' } : {}, replace: true })}
      />
      <Panel title={all ? 'All providers' : 'Providers with our key'}>
        <QueryView query={query}>
          {({ data }) => {
            const rows = busyFirst(all ? data : data.filter(({ shared_offers: shared }) => shared > 0))
            const sorted = rows.toSorted((a, b) => Number(isAmiss(b)) - Number(isAmiss(a)))
            return sorted.length > 0 ? (
              <ProviderTable providers={sorted} />
            ) : (
              <EmptyState icon={PlugZap}>
                There is no provider with a key of ours. Put one into the environment, such as OPENAI_API_KEY,
                and start the gateway again.
              </EmptyState>
            )
          }}
        </QueryView>
      </Panel>
    </>
  )
}
