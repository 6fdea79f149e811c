import { useQuery } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import type { CreatedKey, KeyList, KeyView } from '../../src/core/api/keys.ts'
import { keysQuery } from '../api/queries.ts'
import { SecretDialog } from '../components/feedback/dialogs.tsx'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { Snippets } from '../components/text/snippets.tsx'
import { rateLimitsText } from '../lib/format.ts'
import { EditKeyDialog, NewKeyDialog, RevokeKeyDialog } from './keys/key-dialogs.tsx'
import { KeyTable } from './keys/key-table.tsx'

/** The keys of the account: created with limits, shown once, edited, revoked permanently. */
export function KeysPage() {
  const query = useQuery(keysQuery)
  const [isCreating, setIsCreating] = useState(false)
  const [created, setCreated] = useState<CreatedKey | null>(null)
  const [editing, setEditing] = useState<KeyView | null>(null)
  const [revoking, setRevoking] = useState<KeyView | null>(null)
  const newKey = (
    <Button kind="primary" onClick={() => setIsCreating(true)}>
      <Plus size={18} aria-hidden="true" />
      Create API key
    </Button>
  )
  return (
    <>
      <PageHead
        title="API keys"
        docs="api-keys"
        description="Use one key per service and environment, on servers only. A revoked key stops working within a second."
        actions={newKey}
      />
      <QueryView query={query}>
        {(list) =>
          list.data.length === 0 ? (
            <Panel title="No keys yet">
              <EmptyState icon={KeyRound} action={newKey}>
                Create a key to make calls. You can set a spending limit and rate limits.
              </EmptyState>
            </Panel>
          ) : (
            <Keys list={list} onEdit={setEditing} onRevoke={setRevoking} />
          )
        }
      </QueryView>
      {isCreating && (
        <NewKeyDialog
          defaults={query.data?.defaults}
          onClose={() => setIsCreating(false)}
          onCreated={setCreated}
        />
      )}
      {created && (
        <SecretDialog
          title="Save your API key"
          wide
          secret={created.secret}
          of="the key"
          copy="Copy key"
          warning="Copy this key now. We can't show it again."
          onClose={() => setCreated(null)}
        >
          <h3>Make a first call</h3>
          <Snippets apiKey={created.secret} />
        </SecretDialog>
      )}
      {editing && <EditKeyDialog apiKey={editing} onClose={() => setEditing(null)} />}
      {revoking && <RevokeKeyDialog apiKey={revoking} onClose={() => setRevoking(null)} />}
    </>
  )
}

function Keys(props: { list: KeyList; onEdit: (key: KeyView) => void; onRevoke: (key: KeyView) => void }) {
  const { list, onEdit, onRevoke } = props
  const { data, defaults } = list
  const isInUse = ({ state }: KeyView) => state === 'active' || state === 'paused'
  const active = data.filter(isInUse)
  const ended = data.filter((key) => !isInUse(key))
  return (
    <>
      {active.length > 0 && (
        <Panel title="Active keys">
          <KeyTable keys={active} onEdit={onEdit} onRevoke={onRevoke} />
          <p className="panel-body text-sm text-muted">
            Limit across all keys:{' '}
            {rateLimitsText(defaults.account_requests_per_minute, defaults.account_concurrent_calls)}.
          </p>
        </Panel>
      )}
      {ended.length > 0 && (
        <Panel title="Revoked and expired keys">
          <KeyTable keys={ended} />
        </Panel>
      )}
    </>
  )
}
