import { useQuery } from '@tanstack/react-query'
import { PlugZap, Plus } from 'lucide-react'
import { useState } from 'react'
import type { ByokKeyList, ByokKeyView, NewByokKeyBody } from '../../src/core/api/byok-keys.ts'
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
  const [removing, setRemoving] = useState<ByokKeyView | null>(null)
  const providers = query.data?.providers ?? []
  const add = providers.length > 0 && (
    <Button kind="primary" onClick={() => setIsAdding(true)}>
      <Plus size={18} aria-hidden="true" />
      Add provider key
    </Button>
  )
  return (
    <>
      <PageHead
        title="Provider keys"
        docs="byok"
        description={
          <>
            Bring your own key (BYOK): calls to that provider use your key. The provider bills you, and we
            charge {query.data ? `${query.data.fee_percent}% of the list price` : 'a routing fee'}. Keys are
            encrypted at rest and never shown again.
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
                No provider keys. They are optional: without one, calls use Switchyard's keys at the list
                price.
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
          confirm="Remove key"
          send={() => requestJson('DELETE', path`/console/api/provider-keys/${removing.id}`)}
          stale={['/console/api/provider-keys']}
          done="Provider key removed."
          onClose={() => setRemoving(null)}
        >
          <p>Calls to this provider will use Switchyard's keys at the list price.</p>
        </ConfirmDialog>
      )}
    </>
  )
}

/** The result of trying the key at its provider. */
const STORED: Record<ByokKeyView['status'], (provider: string) => string> = {
  active: (provider) => `Key saved. ${provider} accepts it.`,
  unchecked: (provider) => `Key for ${provider} saved. It could not be checked yet.`,
  unreachable: (provider) => `Key saved, but ${provider} could not be reached.`,
  refused: (provider) => `Key saved, but ${provider} rejects it.`,
  failing: (provider) => `Key saved, but ${provider} rejects it.`,
  disabled: (provider) => `Key for ${provider} saved.`,
}

/** Asks for a key of the client at a provider. */
function NewProviderKeyDialog(props: { providers: ByokKeyList['providers']; onClose: () => void }) {
  const { providers, onClose } = props
  const [allowFallback, setAllowFallback] = useState(false)
  return (
    <FormDialog
      title="Add provider key"
      submit="Save key"
      pending="Saving …"
      initial={{ provider: '', key: '', name: '' }}
      check={({ provider, key }) => ({
        provider: provider === '' ? 'Select a provider.' : null,
        key: key.trim() === '' ? 'Enter the API key of the provider.' : null,
      })}
      send={({ provider, key, name }) =>
        requestJson<ByokKeyView>('POST', '/console/api/provider-keys', {
          provider,
          key: key.trim(),
          allow_fallback: allowFallback,
          ...(name.trim() !== '' && { name: name.trim() }),
        } satisfies NewByokKeyBody)
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
            options={[
              { value: '', name: 'Select a provider' },
              ...providers.map(({ id, name }) => ({ value: id, name })),
            ]}
          />
          <TextField
            label="Key"
            type="password"
            {...field('key')}
            hint="Encrypted at rest, and never shown again."
            required
          />
          <TextField label="Name" {...field('name')} hint="Optional" />
          <CheckField
            label="Fall back to Switchyard's keys"
            hint="When this key fails, calls are billed at the list price. Otherwise they fail."
            checked={allowFallback}
            onChange={setAllowFallback}
          />
        </>
      )}
    </FormDialog>
  )
}
