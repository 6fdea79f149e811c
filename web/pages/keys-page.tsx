import { useQuery } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import type { KeyList, KeyView } from '../../src/core/api/keys.ts'
import { keysQuery } from '../api/queries.ts'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { rateLimitsText } from '../lib/format.ts'
import { NewKeyDialog } from './keys/key-dialogs.tsx'
import { KeyTable } from './keys/key-table.tsx'

/** The keys of the account: created with limits, shown once, edited, revoked permanently. */
export function KeysPage() {
  const query = useQuery(keysQuery)
  const [isCreating, setIsCreating] = useState(false)
  const newKey = (
    <Button icon={Plus} kind="primary" onClick={() => setIsCreating(true)}>
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
            <Keys list={list} />
          )
        }
      </QueryView>
      {isCreating && <NewKeyDialog defaults={query.data?.defaults} onClose={() => setIsCreating(false)} />}
    </>
  )
}

function Keys({ list: { data, defaults } }: { list: KeyList }) {
  const isInUse = ({ state }: KeyView) => state === 'active' || state === 'paused'
  const active = data.filter(isInUse)
  const ended = data.filter((key) => !isInUse(key))
  return (
    <>
      {active.length > 0 && (
        <Panel title="Active keys">
          <KeyTable keys={active} mayChange />
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
