import { useQuery } from '@tanstack/react-query'
import { PlugZap, Plus } from 'lucide-react'
import { useState } from 'react'
import type { ByokKeyBody, NewByokKeyBody } from '../../src/core/api/byok-keys.ts'
import { gatewayQuery, providerKeysQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { FormDialog } from '../components/feedback/dialogs.tsx'
import { EmptyState, Note, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { CheckField } from '../components/form/fields.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { ProviderKeyTable } from './provider-keys/provider-key-table.tsx'

/** The account's own keys at providers: the provider bills the client, the gateway its routing fee. */
export function ProviderKeysPage() {
  const query = useQuery(providerKeysQuery)
  const isDemo = useQuery(gatewayQuery).data?.answers === 'simulated'
  const names = query.data?.provider_names ?? {}
  const add = Object.keys(names).length > 0 && (
    <Button
      icon={Plus}
      kind="primary"
      dialog={(close) => <NewProviderKeyDialog names={names} onClose={close} />}
    >
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
          Demo mode doesn't apply to your own keys: these calls are real and billed by the provider.
        </Note>
      )}
      <QueryView query={query}>
        {({ data }) => (
          <Panel title="Your keys">
            {data.length === 0 ? (
              <EmptyState icon={PlugZap} action={add}>
                No provider keys. They are optional: without one, calls use Shuntyard's keys at the prices of
                the catalog.
              </EmptyState>
            ) : (
              <ProviderKeyTable keys={data} names={names} />
            )}
          </Panel>
        )}
      </QueryView>
    </>
  )
}

/** The result of trying the key at its provider. */
const STORED: Record<ByokKeyBody['status'], (provider: string) => string> = {
  active: (provider) => `Key saved. ${provider} accepts it.`,
  unchecked: (provider) => `Key for ${provider} saved. It could not be checked yet.`,
  unreachable: (provider) => `Key saved, but ${provider} could not be reached.`,
  refused: (provider) => `Key saved, but ${provider} rejects it.`,
  failing: (provider) => `Key saved, but ${provider} rejects it.`,
  disabled: (provider) => `Key for ${provider} saved.`,
}

/** Asks for a key of the client at a provider. */
function NewProviderKeyDialog({ names, onClose }: { names: Record<string, string>; onClose: () => void }) {
  const [allowFallback, setAllowFallback] = useState(false)
  return (
    <FormDialog
      title="Add provider key"
      submit="Save key"
      pending="Saving …"
      fields={{
        provider: {
          label: 'Provider',
          required: 'Select a provider.',
          options: [
            { value: '', name: 'Select a provider' },
            ...Object.entries(names)
              .map(([value, name]) => ({ value, name }))
              .sort((one, other) => one.name.localeCompare(other.name)),
          ],
        },
        key: {
          label: 'Key',
          type: 'password',
          hint: 'Encrypted at rest, and never shown again.',
          required: 'Enter the API key of the provider.',
        },
        name: { label: 'Name', hint: 'Optional' },
      }}
      send={({ name, ...values }) =>
        requestJson<ByokKeyBody>('POST', '/console/api/provider-keys', {
          ...values,
          allow_fallback: allowFallback,
          ...(name !== '' && { name }),
        } satisfies NewByokKeyBody)
      }
      stale={['/console/api/provider-keys']}
      done={(added) => STORED[added.status](names[added.provider] ?? added.provider)}
      onClose={onClose}
      foot={
        <CheckField
          label="Fall back to Shuntyard's keys"
          hint="When this key fails, calls are billed at Shuntyard's price. Otherwise they fail."
          checked={allowFallback}
          onChange={setAllowFallback}
        />
      }
    />
  )
}
