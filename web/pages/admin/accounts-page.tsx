import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Plus, Users } from 'lucide-react'
import { useState } from 'react'
import type { OperatorAccount, SuspendRequest } from '../../../src/core/api/accounts.ts'
import { accountsQuery } from '../../api/operator-queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { SearchForm } from '../../components/form/form.tsx'
import { PageHead } from '../../components/layout/page.tsx'
import { DataTable, ListPanel, TwoLines } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { formatDate, plural } from '../../lib/format.ts'
import { AccountState } from './accounts/account-view.tsx'
import { BulkDialog, SelectBox, useSelection } from './accounts/bulk-actions.tsx'
import { InvitationDialog, NewAccountDialog } from './accounts/new-account-dialog.tsx'
import { OperatorButton } from './operator-button.tsx'

/** All accounts, searched by email, name or ID. */
export function AccountsPage() {
  const { search } = useSearch({ from: '/operator/admin/accounts' })
  const navigate = useNavigate({ from: '/admin/accounts' })
  const [isCreating, setIsCreating] = useState(false)
  const [link, setLink] = useState<string | null>(null)
  return (
    <>
      <PageHead
        title="Accounts"
        actions={
          <OperatorButton needs="accounts.write" kind="primary" onClick={() => setIsCreating(true)}>
            <Plus size={18} aria-hidden="true" />
            Create account
          </OperatorButton>
        }
      />
      <SearchForm
        label="Search by email address, name or ID"
        initial={search}
        onSearch={(text) => void navigate({ search: text === '' ? {} : { search: text } })}
      />
      <ListPanel
        title={search ? `Results for “${search}”` : 'All accounts'}
        query={accountsQuery(search)}
        icon={Users}
        empty={
          search
            ? 'No accounts found. Search for a part of the email address or name, or for the full ID.'
            : 'No accounts yet. Users sign up at /sign-up, or you create one here.'
        }
      >
        {(accounts) => <AccountTable accounts={accounts} />}
      </ListPanel>
      {isCreating && (
        <NewAccountDialog
          onClose={() => setIsCreating(false)}
          onOpened={({ invitation }) => setLink(invitation.path)}
        />
      )}
      {link !== null && <InvitationDialog path={link} onClose={() => setLink(null)} />}
    </>
  )
}

const BULK = {
  suspend: {
    title: (count: string) => `Suspend ${count}?`,
    submit: 'Suspend accounts',
    what: 'All their requests will fail immediately, and their console sessions end. Running calls complete and are charged.',
    kind: 'danger',
  },
  resume: {
    title: (count: string) => `Resume ${count}?`,
    submit: 'Resume accounts',
    what: 'Their keys work again immediately, and their owners can sign in.',
    kind: 'primary',
  },
} as const

function AccountTable({ accounts }: { accounts: readonly OperatorAccount[] }) {
  const selection = useSelection(accounts)
  const [verb, setVerb] = useState<keyof typeof BULK | null>(null)
  const suspended = selection.chosen.filter(({ state }) => state === 'suspended')
  const others = selection.chosen.filter(({ state }) => state !== 'suspended')
  const items = verb === 'resume' ? suspended : others
  return (
    <>
      {selection.chosen.length > 0 && (
        <div className="row px-inset py-3">
          {others.length > 0 && (
            <OperatorButton
              needs="accounts.suspend"
              size="small"
              kind="danger"
              onClick={() => setVerb('suspend')}
            >
              Suspend {plural(others.length, 'account')}
            </OperatorButton>
          )}
          {suspended.length > 0 && (
            <OperatorButton needs="accounts.suspend" size="small" onClick={() => setVerb('resume')}>
              Resume {plural(suspended.length, 'account')}
            </OperatorButton>
          )}
        </div>
      )}
      <DataTable
        caption="Accounts, newest first"
        rows={accounts}
        title="Account"
        columns={{
          Select: ({ id, name }) => (
            <SelectBox about={name} checked={selection.has(id)} onChange={() => selection.toggle(id)} />
          ),
          Account: ({ id, name }) => (
            <TwoLines second={<code>{id}</code>}>
              <Link to="/admin/accounts/$id" params={{ id }}>
                {name}
              </Link>
            </TwoLines>
          ),
          State: ({ state }) => <AccountState state={state} />,
          Balance: ({ balance_usd: usd }) => <Money usd={usd} />,
          Owed: ({ owed_usd: usd }) => <Money usd={usd} />,
          Created: (account) => formatDate(account.created_at),
        }}
        numeric={['Balance', 'Owed']}
      />
      {verb && (
        <BulkDialog
          {...BULK[verb]}
          title={BULK[verb].title(plural(items.length, 'account'))}
          items={items}
          asksReason
          send={({ id }, reason) =>
            requestJson('POST', path`/admin/api/accounts/${id}/${verb}`, { reason } satisfies SuspendRequest)
          }
          stale={['/admin/api']}
          done={`${plural(items.length, 'account')} ${verb === 'suspend' ? 'suspended' : 'resumed'}.`}
          onDone={selection.clear}
          onClose={() => setVerb(null)}
        />
      )}
    </>
  )
}
