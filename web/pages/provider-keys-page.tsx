import { useQuery } from '@tanstack/react-query'
import { PlugZap, Plus } from 'lucide-react'
import { useState } from 'react'
import type { ProviderKeyView } from '../../src/core/api/provider-keys.ts'
import { providerKeysQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { ConfirmDialog } from '../components/feedback/confirm-dialog.tsx'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { NewProviderKeyDialog } from './provider-keys/new-provider-key-dialog.tsx'
import { ProviderKeyTable } from './provider-keys/provider-key-table.tsx'

/** The account's own keys at providers: the provider bills the client, the gateway its routing fee. */
export function ProviderKeysPage() {
  const query = useQuery(providerKeysQuery)
  const [isAdding, setIsAdding] = useState(false)
  const [removing, setRemoving] = useState<ProviderKeyView | null>(null)
  const providers = query.data?.providers ?? []
  const add = providers.length > 0 && (
    <Button kind="primary" onClick={() => setIsAdding(true)}>
      <Plus size={18} aria-hidden="true" />
      Add a provider key
    </Button>
  )
  return (
    <>
      <PageHead
        title="Provider keys"
        description={
          <>
            Calls to a provider that you have a key for use that key: the provider bills you, and we charge{' '}
            {query.data ? `${query.data.fee_percent}% of the listed cost` : 'a routing fee'}. Keys are stored
            encrypted and never shown again.
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
      {isAdding && <NewProviderKeyDialog providers={providers} onClose={() => setIsAdding(false)} />}
      {removing && (
        <ConfirmDialog
          title={`Remove the key for ${removing.provider_name}?`}
          confirm="Remove the key"
          send={() => requestJson('DELETE', `/console/api/provider-keys/${encodeURIComponent(removing.id)}`)}
          stale={[['provider-keys']]}
          done="The provider key is removed."
          onClose={() => setRemoving(null)}
        >
          <p>Calls to this provider use shared capacity at the listed price from then on.</p>
        </ConfirmDialog>
      )}
    </>
  )
}
