import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { PlugZap } from 'lucide-react'
import { catalogQuery, providersQuery } from '../../api/operator-queries.ts'
import { EmptyState, Note, QueryView } from '../../components/feedback/messages.tsx'
import { ChoiceField } from '../../components/form/fields.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { busyFirst, isAmiss } from '../../lib/live-stats.ts'
import { disabledProviders } from '../../lib/operators/catalog-edits.ts'
import { ProviderTable } from './providers/provider-tables.tsx'

const WHICH = [
  { value: 'ours', name: 'Configured' },
  { value: 'all', name: 'All' },
]

/** Every provider: the outcomes of calls to it, and whether it is held back. */
export function ProvidersPage() {
  const { all } = useSearch({ from: '/operator/admin/providers' })
  const navigate = useNavigate({ from: '/admin/providers' })
  return (
    <>
      <PageHead
        title="Providers"
        description="Success and health of each provider, over all workers."
        actions={
          <Link to="/status" className="button">
            Status page
          </Link>
        }
      />
      <div className="toolbar">
        <ChoiceField
          label="Show"
          value={all ? 'all' : 'ours'}
          options={WHICH}
          onChange={(value) => void navigate({ search: value === 'all' ? { all: '1' } : {}, replace: true })}
        />
      </div>
      <DisabledProviders />
      <Panel title={all ? 'All providers' : 'Configured providers'}>
        <QueryView query={useQuery(providersQuery)}>
          {({ data }) => {
            const rows = busyFirst(all ? data : data.filter(({ shared_offers: shared }) => shared > 0))
            const sorted = rows.toSorted((a, b) => Number(isAmiss(b)) - Number(isAmiss(a)))
            return sorted.length > 0 ? (
              <ProviderTable providers={sorted} />
            ) : (
              <EmptyState icon={PlugZap}>
                No provider is configured. Choose “All”, open a provider and add its key, or set it in the
                environment, for example OPENAI_API_KEY, and restart the gateway.
              </EmptyState>
            )
          }}
        </QueryView>
      </Panel>
    </>
  )
}

/** Providers that an operator disabled: the catalog has no offers of them, so the table does not list them. */
function DisabledProviders() {
  const ids = disabledProviders(useQuery(catalogQuery).data?.edits?.content ?? {})
  if (ids.length === 0) return null
  return (
    <Note tone="warn">
      Disabled by the current overrides:{' '}
      {ids.map((id) => (
        <Link key={id} to="/admin/providers/$id" params={{ id }} className="mr-2">
          {id}
        </Link>
      ))}
    </Note>
  )
}
