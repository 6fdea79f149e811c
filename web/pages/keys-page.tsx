import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import type { KeyList } from '../../src/core/api/keys.ts'
import { keysQuery } from '../api/queries.ts'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { SelectField } from '../components/form/fields.tsx'
import { SearchField } from '../components/form/search-field.tsx'
import { useNewDialog } from '../components/form/use-new-dialog.ts'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { PagedRows } from '../components/table/page-nav.tsx'
import { rateLimitsText } from '../lib/format.ts'
import { isInUse, type KeySearch, keyOrder, listKeys } from '../lib/key-list.ts'
import { NewKeyDialog } from './keys/key-dialogs.tsx'
import { KeyTable } from './keys/key-table.tsx'

/** The keys of the account: created with limits, shown once, edited, revoked permanently. */
export function KeysPage() {
  const query = useQuery(keysQuery)
  const creating = useNewDialog()
  const newKey = (
    <Button icon={Plus} kind="primary" onClick={creating.open}>
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
      {creating.isOpen && query.data && <NewKeyDialog list={query.data} onClose={creating.close} />}
    </>
  )
}

const STATES = [
  { value: '', name: 'Any' },
  { value: 'active', name: 'Active' },
  { value: 'paused', name: 'Paused' },
  { value: 'limit_reached', name: 'Limit reached' },
  { value: 'expired', name: 'Expired' },
  { value: 'revoked', name: 'Revoked' },
]

function Keys({ list: { data, defaults } }: { list: KeyList }) {
  const search = useSearch({ from: '/account/keys' })
  const navigate = useNavigate({ from: '/keys' })
  const [endedPage, setEndedPage] = useState(1)
  const set = (changed: KeySearch) =>
    void navigate({
      search: (before) => ({ ...before, page: undefined, ...changed }),
      replace: true,
      resetScroll: false,
    })
  const found = listKeys(data, search)
  const sort = {
    ...keyOrder(search),
    onSort: (by: string, isAscending: boolean) =>
      set({ sort: by === 'created' ? undefined : by, order: isAscending ? 'asc' : undefined }),
  }
  const active = found.filter(isInUse)
  const ended = found.filter((key) => !isInUse(key))
  return (
    <>
      <div className="toolbar">
        <SearchField
          placeholder="Name, ID or the end of the key"
          value={search.q}
          onSearch={(q) => set({ q })}
        />
        <SelectField
          label="State"
          value={search.state ?? ''}
          options={STATES}
          onChange={(state) => set({ state: state || undefined })}
        />
      </div>
      {found.length === 0 && (
        <Panel title="No keys found">
          <EmptyState icon={KeyRound}>No key matches. Change the search or the state.</EmptyState>
        </Panel>
      )}
      {active.length > 0 && (
        <Panel title="Active keys">
          <PagedRows
            of="active keys"
            rows={active}
            page={Number(search.page ?? 1)}
            onPage={(page) => set({ page: page === 1 ? undefined : String(page) })}
          >
            {(keys) => <KeyTable keys={keys} sort={sort} mayChange />}
          </PagedRows>
          <p className="panel-body text-sm text-muted">
            Limit across all keys:{' '}
            {rateLimitsText(defaults.account_requests_per_minute, defaults.account_concurrent_calls)}.
          </p>
        </Panel>
      )}
      {ended.length > 0 && (
        <Panel title="Revoked and expired keys">
          <PagedRows of="revoked and expired keys" rows={ended} page={endedPage} onPage={setEndedPage}>
            {(keys) => <KeyTable keys={keys} sort={sort} />}
          </PagedRows>
        </Panel>
      )}
    </>
  )
}
