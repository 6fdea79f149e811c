import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Users } from 'lucide-react'
import { accountsQuery } from '../../api/operator-queries.ts'
import { SearchForm } from '../../components/form/form.tsx'
import { PageHead } from '../../components/layout/page.tsx'
import { DataTable, ListPanel, TwoLines } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/values.tsx'
import { formatDate } from '../../lib/format.ts'
import { AccountState } from './account-view.tsx'

/** All accounts, searched by e-mail or id. */
export function AccountsPage() {
  const { search } = useSearch({ from: '/operator/admin/accounts' })
  const navigate = useNavigate({ from: '/admin/accounts' })
  return (
    <>
      <PageHead title="Accounts" description="Balances are the ledger’s." />
      <SearchForm
        label="Search by e-mail address or id"
        initial={search}
        onSearch={(text) => void navigate({ search: text === '' ? {} : { search: text } })}
      />
      <ListPanel
        title={search ? `Accounts found for “${search}”` : 'All accounts'}
        query={accountsQuery(search)}
        icon={Users}
        empty={
          search
            ? 'No account matches. Search for a part of the e-mail address, or for the whole id.'
            : 'No accounts yet. People sign up at /sign-up, or create one with: npm run admin -- account create'
        }
      >
        {(accounts) => (
          <DataTable
            caption="Accounts, newest first"
            rows={accounts}
            columns={{
              'E-mail': ({ id, email }) => (
                <TwoLines second={<code>{id}</code>}>
                  <Link to="/admin/accounts/$id" params={{ id }}>
                    {email}
                  </Link>
                </TwoLines>
              ),
              State: ({ state }) => <AccountState state={state} />,
              Balance: ({ balance_usd: usd }) => <Money usd={usd} />,
              Owed: ({ owed_usd: usd }) => <Money usd={usd} />,
              Since: (account) => formatDate(account.created_at),
            }}
            numeric={['Balance', 'Owed']}
          />
        )}
      </ListPanel>
    </>
  )
}
