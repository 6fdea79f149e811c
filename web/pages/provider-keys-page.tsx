import { useQuery } from '@tanstack/react-query'
import { PlugZap, Plus } from 'lucide-react'
import { useState } from 'react'
import type { ProviderKeyView } from '../../src/core/api/provider-keys.ts'
import { providerKeysQuery } from '../api/queries.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { QueryView } from '../components/query-view.tsx'
import { NewProviderKeyDialog } from './provider-keys/new-provider-key-dialog.tsx'
import { ProviderKeyTable } from './provider-keys/provider-key-table.tsx'
import { RemoveProviderKeyDialog } from './provider-keys/remove-provider-key-dialog.tsx'

/** Keys of the account's own at providers: the provider bills the client, the gateway its routing fee. */
export function ProviderKeysPage() {
  const query = useQuery(providerKeysQuery)
  const [isAdding, setIsAdding] = useState(false)
  const [removing, setRemoving] = useState<ProviderKeyView | null>(null)
  const add = query.data && query.data.providers.length > 0 && (
    <button type="button" className="button button-primary" onClick={() => setIsAdding(true)}>
      <Plus size={18} aria-hidden="true" />
      Add a provider key
    </button>
  )
  return (
    <>
      <PageHead
        title="Provider keys"
        description={
          <>
            Calls to a provider that you have a key for use that key: the provider bills you, and we charge{' '}
            {query.data ? `${query.data.fee_percent}% of the listed cost` : 'a routing fee'}. Keys are stored
            sealed and never shown again.
          </>
        }
        actions={add}
      />
      <QueryView query={query}>
        {({ data }) => (
          <Panel title="Your keys">
            {data.length === 0 ? (
              <EmptyState icon={PlugZap} action={add}>
                No provider keys. You need none: without one, calls use the gateway's own at the listed price.
              </EmptyState>
            ) : (
              <ProviderKeyTable keys={data} onRemove={setRemoving} />
            )}
          </Panel>
        )}
      </QueryView>
      <NewProviderKeyDialog
        isOpen={isAdding}
        providers={query.data?.providers ?? []}
        onClose={() => setIsAdding(false)}
      />
      <RemoveProviderKeyDialog providerKey={removing} onClose={() => setRemoving(null)} />
    </>
  )
}
