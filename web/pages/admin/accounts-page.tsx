import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Users } from 'lucide-react'
import { accountsQuery } from '../../api/operator-queries.ts'
import { SearchForm } from '../../components/form/form.tsx'
import { PageHead } from '../../components/layout/page.tsx'
import { DataTable, ListPanel, TwoLines } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { formatDate } from '../../lib/format.ts'
import { AccountState } from './account-view.tsx'

/** All accounts, searched by email, name or ID. */
export function AccountsPage() {
  const { search } = useSearch({ from: '/operator/admin/accounts' })
  const navigate = useNavigate({ from: '/admin/accounts' })
  return (
    <>
      <PageHead title="Accounts" />
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
            : 'No accounts yet. Users sign up at /sign-up, or create one with: npm run admin -- account create'
        }
      >
        {(accounts) => (
          <DataTable
            caption="Accounts, newest first"
            rows={accounts}
            columns={{
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
        )}
      </ListPanel>
    </>
  )
}
