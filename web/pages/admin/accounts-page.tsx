import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Plus, Users } from 'lucide-react'
import type { ListedAccount, SuspendRequest } from '../../../src/core/api/accounts.ts'
import { accountsQuery } from '../../api/operator-queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { SearchForm } from '../../components/form/form.tsx'
import { PageHead } from '../../components/layout/page.tsx'
import { DataTable, InCard, ListPanel, TwoLines } from '../../components/table/data-table.tsx'
import { useSelection } from '../../components/table/selection.tsx'
import { Breakable } from '../../components/text/code.tsx'
import { Money } from '../../components/text/money.tsx'
import { Ago } from '../../components/text/values.tsx'
import { formatDate, plural } from '../../lib/format.ts'
import { AccountState } from './accounts/account-view.tsx'
import { BulkDialog } from './accounts/bulk-actions.tsx'
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

function AccountTable({ accounts }: { accounts: readonly ListedAccount[] }) {
  const { selection, chosen, clear } = useSelection(accounts, ({ name }) => name)
  const suspended = chosen.filter(({ state }) => state === 'suspended')
  const others = chosen.filter(({ state }) => state !== 'suspended')
  const bulkButton = (verb: keyof typeof BULK, items: readonly ListedAccount[]) => {
    const { name, kind, ...texts } = BULK[verb]
    const count = plural(items.length, 'account')
    return (
      items.length > 0 && (
        <OperatorButton
          needs="accounts.suspend"
          size="small"
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
              onDone={clear}
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
      {chosen.length > 0 && (
        <div className="row px-inset py-3">
          {bulkButton('suspend', others)}
          {bulkButton('resume', suspended)}
        </div>
      )}
      <DataTable
        caption="Accounts, newest first"
        rows={accounts}
        selection={selection}
        columns={{
          Account: ({ id, name }) => (
            <TwoLines second={<code>{id}</code>}>
              <Link to="/admin/accounts/$id" params={{ id }}>
                <Breakable text={name} />
              </Link>
            </TwoLines>
          ),
          State: ({ state }) => <AccountState state={state} />,
          Balance: ({ balance_usd: usd }) => <Money usd={usd} />,
          Owed: ({ owed_usd: usd }) => <Money usd={usd} />,
          'Total spend': ({ spent_usd: usd }) => (
            <span>
              <Money usd={usd} />
              <InCard> spent</InCard>
            </span>
          ),
          'Last call': ({ last_call_at: at }) => (
            <span>
              <InCard>{'last call '}</InCard>
              {at === null ? 'never' : <Ago at={at} />}
            </span>
          ),
          Created: (account) => <span className="whitespace-nowrap">{formatDate(account.created_at)}</span>,
        }}
        numeric={['Balance', 'Owed', 'Total spend']}
        lead="Balance"
        brief={['State', 'Total spend', 'Last call']}
      />
    </>
  )
}
