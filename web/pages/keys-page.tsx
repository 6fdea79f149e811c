import { useQuery } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { CreatedKey, KeyList, KeyView } from '../../src/core/api/keys.ts'
import { keysQuery } from '../api/queries.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { QueryView } from '../components/query-view.tsx'
import { rateLimitsText } from '../lib/figures.ts'
import { KeyTable } from './keys/key-table.tsx'
import { NewKeyDialog } from './keys/new-key-dialog.tsx'
import { NewSecretDialog } from './keys/new-secret-dialog.tsx'
import { RevokeKeyDialog } from './keys/revoke-key-dialog.tsx'

/** The keys of the account: made with limits, shown once, revoked for good. */
export function KeysPage() {
  const query = useQuery(keysQuery)
  const [isCreating, setIsCreating] = useState(false)
  const [created, setCreated] = useState<CreatedKey | null>(null)
  const [revoking, setRevoking] = useState<KeyView | null>(null)
  const newKey = (
    <button type="button" className="button button-primary" onClick={() => setIsCreating(true)}>
      <Plus size={18} aria-hidden="true" />
      New key
    </button>
  )
  return (
    <>
      <PageHead
        title="API keys"
        description="One key for each service and environment, kept on servers only. A key that leaked is revoked within a second, everywhere."
        actions={newKey}
      />
      <QueryView query={query}>
        {(list) =>
          list.data.length === 0 ? <NoKeys action={newKey} /> : <Keys list={list} onRevoke={setRevoking} />
        }
      </QueryView>
      <NewKeyDialog
        isOpen={isCreating}
        defaults={query.data?.defaults}
        onClose={() => setIsCreating(false)}
        onCreated={(key) => {
          setIsCreating(false)
          setCreated(key)
        }}
      />
      <NewSecretDialog created={created} onClose={() => setCreated(null)} />
      <RevokeKeyDialog keyView={revoking} onClose={() => setRevoking(null)} />
    </>
  )
}

function NoKeys({ action }: { action: ReactNode }) {
  return (
    <Panel title="No keys yet">
      <EmptyState icon={KeyRound} action={action}>
        Create a key to make calls. You can limit what it may spend, and how fast.
      </EmptyState>
    </Panel>
  )
}

function Keys({ list, onRevoke }: { list: KeyList; onRevoke: (key: KeyView) => void }) {
  const active = list.data.filter(({ state }) => state === 'active')
  const ended = list.data.filter(({ state }) => state !== 'active')
  return (
    <>
      {active.length > 0 && (
        <Panel title="Active keys">
          <KeyTable keys={active} onRevoke={onRevoke} />
          <p className="panel-body small muted">
            All keys of the account together:{' '}
            {rateLimitsText(
              list.defaults.account_requests_per_minute,
              list.defaults.account_concurrent_calls,
            )}
            .
          </p>
        </Panel>
      )}
      {ended.length > 0 && (
        <Panel title="Revoked and expired keys">
          <KeyTable keys={ended} onRevoke={null} />
        </Panel>
      )}
    </>
  )
}
