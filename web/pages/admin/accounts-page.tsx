import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Plus, Users } from 'lucide-react'
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
import { NewAccountDialog } from './accounts/new-account-dialog.tsx'
import { OperatorButton } from './operator-button.tsx'

/** All accounts, searched by email, name or ID. */
export function AccountsPage() {
  const { search } = useSearch({ from: '/operator/admin/accounts' })
  const navigate = useNavigate({ from: '/admin/accounts' })
  return (
    <>
      <PageHead
        title="Accounts"
        actions={
          <OperatorButton
            icon={Plus}
            needs="accounts.write"
            kind="primary"
            dialog={(close) => <NewAccountDialog onClose={close} />}
          >
            Create account
          </OperatorButton>
        }
      />
      <SearchForm
        label="Account"
        placeholder="Email address, name or ID"
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
    </>
  )
}

const BULK = {
  suspend: {
    name: 'Suspend',
    submit: 'Suspend accounts',
    what: 'All their requests will fail immediately, and their console sessions end. Running calls complete and are charged.',
    kind: 'danger',
  },
  resume: {
    name: 'Resume',
    submit: 'Resume accounts',
    what: 'Their keys work again immediately, and their owners can sign in.',
    kind: undefined,
  },
} as const

function AccountTable({ accounts }: { accounts: readonly OperatorAccount[] }) {
  const selection = useSelection(accounts)
  const suspended = selection.chosen.filter(({ state }) => state === 'suspended')
  const others = selection.chosen.filter(({ state }) => state !== 'suspended')
  const bulkButton = (verb: keyof typeof BULK, items: readonly OperatorAccount[]) => {
    const { name, kind, ...texts } = BULK[verb]
    const count = plural(items.length, 'account')
    return (
      items.length > 0 && (
        <OperatorButton
          needs="accounts.suspend"
          size="small"
          kind={kind}
          dialog={(close) => (
            <BulkDialog
              {...texts}
              title={`${name} ${count}?`}
              kind={kind ?? 'primary'}
              items={items}
              asksReason
              send={({ id }, reason) =>
                requestJson('POST', path`/admin/api/accounts/${id}/${verb}`, {
                  reason,
                } satisfies SuspendRequest)
              }
              stale={['/admin/api']}
              done={`${count} ${verb === 'suspend' ? 'suspended' : 'resumed'}.`}
              onDone={selection.clear}
              onClose={close}
            />
          )}
        >
          {name} {count}
        </OperatorButton>
      )
    )
  }
  return (
    <>
      {selection.chosen.length > 0 && (
        <div className="row px-inset py-3">
          {bulkButton('suspend', others)}
          {bulkButton('resume', suspended)}
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
    </>
  )
}
