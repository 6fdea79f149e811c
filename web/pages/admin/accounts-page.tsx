import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import type { ListedAccount } from '../../../src/core/api/accounts.ts'
import { accountsQuery } from '../../api/operator-queries.ts'
import { SearchForm } from '../../components/form/form.tsx'
import { useNewDialog } from '../../components/form/use-new-dialog.ts'
import { PageHead } from '../../components/layout/page.tsx'
import { DataTable, InCard, ListPanel, TwoLines } from '../../components/table/data-table.tsx'
import { Breakable } from '../../components/text/code.tsx'
import { Money } from '../../components/text/money.tsx'
import { Ago } from '../../components/text/values.tsx'
import { formatDate } from '../../lib/format.ts'
import { AccountState } from './accounts/account-view.tsx'
import { NewAccountDialog } from './accounts/new-account-dialog.tsx'
import { OperatorButton } from './operator-button.tsx'

/** All accounts, searched by email, name or ID. */
export function AccountsPage() {
  const { search } = useSearch({ from: '/operator/admin/accounts' })
  const navigate = useNavigate({ from: '/admin/accounts' })
  const creating = useNewDialog()
  return (
    <>
      <PageHead
        title="Accounts"
        actions={
          <OperatorButton icon={Plus} needs="accounts.write" kind="primary" onClick={creating.open}>
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
        empty={
          search
            ? 'No accounts found. Search for a part of the email address or name, or for the full ID.'
            : 'No accounts yet. Users sign up at /sign-up, or you create one here.'
        }
      >
        {(accounts) => <AccountTable accounts={accounts} />}
      </ListPanel>
      {creating.isOpen && <NewAccountDialog onClose={creating.close} />}
    </>
  )
}

const AccountTable = ({ accounts }: { accounts: readonly ListedAccount[] }) => (
  <DataTable
    caption="Accounts, newest first"
    rows={accounts}
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
)
