import { useQuery } from '@tanstack/react-query'
import { PlugZap, Plus } from 'lucide-react'
import { useState } from 'react'
import type {
  NewProviderKeyBody,
  ProviderKeyList,
  ProviderKeyView,
} from '../../src/core/api/provider-keys.ts'
import { gatewayQuery, providerKeysQuery } from '../api/queries.ts'
import { path, requestJson } from '../api/request.ts'
import { ConfirmDialog, FormDialog } from '../components/feedback/dialogs.tsx'
import { EmptyState, Note, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { CheckField, SelectField, TextField } from '../components/form/fields.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { ProviderKeyTable } from './provider-keys/provider-key-table.tsx'

/** The account's own keys at providers: the provider bills the client, the gateway its routing fee. */
export function ProviderKeysPage() {
  const query = useQuery(providerKeysQuery)
  const isDemo = useQuery(gatewayQuery).data?.answers === 'simulated'
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
      {isDemo && (
        <Note tone="warn">
          In demo mode, calls with your own key still go to the real provider, which bills you for them.
        </Note>
      )}
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
          send={() => requestJson('DELETE', path`/console/api/provider-keys/${removing.id}`)}
          stale={['/console/api/provider-keys']}
          done="The provider key is removed."
          onClose={() => setRemoving(null)}
        >
          <p>Calls to this provider use shared capacity at the listed price from then on.</p>
        </ConfirmDialog>
      )}
    </>
  )
}

/** The result of trying the key at its provider. */
const STORED: Record<ProviderKeyView['status'], (provider: string) => string> = {
  active: (provider) => `The key is stored, and ${provider} accepts it.`,
  unchecked: (provider) => `The key for ${provider} is stored. It could not be checked.`,
  refused: (provider) => `The key is stored, but ${provider} refuses it.`,
  failing: (provider) => `The key is stored, but ${provider} refuses it.`,
  disabled: (provider) => `The key for ${provider} is stored.`,
}

/** Asks for a key of the client at a provider. */
function NewProviderKeyDialog(props: { providers: ProviderKeyList['providers']; onClose: () => void }) {
  const { providers, onClose } = props
  const [allowFallback, setAllowFallback] = useState(false)
  return (
    <FormDialog
      title="Add a provider key"
      submit="Store the key"
      pending="Storing …"
      initial={{ provider: providers[0]?.id ?? '', key: '', name: '' }}
      check={({ key }) => ({ key: key.trim() === '' ? 'Paste the key as the provider showed it.' : null })}
      send={({ provider, key, name }) =>
        requestJson<ProviderKeyView>('POST', '/console/api/provider-keys', {
          provider,
          key: key.trim(),
          allow_fallback: allowFallback,
          ...(name.trim() !== '' && { name: name.trim() }),
        } satisfies NewProviderKeyBody)
      }
      stale={['/console/api/provider-keys']}
      done={(added) => STORED[added.status](added.provider_name)}
      onClose={onClose}
    >
      {(field) => (
        <>
          <SelectField
            label="Provider"
            {...field('provider')}
            options={providers.map(({ id, name }) => ({ value: id, name }))}
          />
          <TextField
            label="Key"
            type="password"
            {...field('key')}
            hint="It is encrypted before it is stored, and never shown again."
            required
          />
          <TextField label="Name" {...field('name')} hint="Optional, to tell several keys apart." />
          <CheckField
            label="Use shared capacity when this key fails"
            hint="Those calls cost the listed price instead of the routing fee. Otherwise they fail."
            checked={allowFallback}
            onChange={setAllowFallback}
          />
        </>
      )}
    </FormDialog>
  )
}
