import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Users } from 'lucide-react'
import { useState } from 'react'
import { accountsQuery } from '../../api/operator-queries.ts'
import { DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Form } from '../../components/form.tsx'
import { Money } from '../../components/money.tsx'
import { PageHead } from '../../components/page-head.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Panel } from '../../components/panel.tsx'
import { TextField } from '../../components/text-field.tsx'
import { formatDate } from '../../lib/dates.ts'
import { AccountState } from './accounts/account-state.tsx'

/** All accounts, searched by e-mail or id. */
export function AccountsPage() {
  const { search } = useSearch({ from: '/operator/admin/accounts' })
  const navigate = useNavigate({ from: '/admin/accounts' })
  const [text, setText] = useState(search ?? '')
  const query = useInfiniteQuery(accountsQuery(search))
  return (
    <>
      <PageHead title="Accounts" description="Balances are the ledger’s." />
      <Form
        className="toolbar"
        error={null}
        onSubmit={() => void navigate({ search: text.trim() === '' ? {} : { search: text.trim() } })}
      >
        <TextField
          className="field-wide"
          label="Search by e-mail address or id"
          type="search"
          value={text}
          onChange={setText}
        />
        <button type="submit" className="button button-primary">
          Search
        </button>
      </Form>
      <Panel title={search ? `Accounts found for “${search}”` : 'All accounts'}>
        <PageList
          query={query}
          empty={
            <EmptyState icon={Users}>
              {search
                ? 'No account fits. Search for a part of the e-mail address, or for the whole id.'
                : 'No accounts yet. People sign up at /sign-up, or make one with: npm run admin -- account create'}
            </EmptyState>
          }
        >
          {(accounts) => (
            <DataTable
              caption="Accounts, newest first"
              rows={accounts}
              rowKey={({ id }) => id}
              columns={[
                {
                  header: 'E-mail',
                  title: true,
                  cell: ({ id, email }) => (
                    <span className="stack-tight">
                      <Link to="/admin/accounts/$id" params={{ id }}>
                        {email}
                      </Link>
                      <code className="small muted">{id}</code>
                    </span>
                  ),
                },
                { header: 'State', cell: ({ state }) => <AccountState state={state} /> },
                {
                  header: 'Balance',
                  numeric: true,
                  cell: ({ balance_usd: usd }) => <Money usd={usd} />,
                },
                { header: 'Owed', numeric: true, cell: ({ owed_usd: usd }) => <Money usd={usd} /> },
                { header: 'Since', cell: (account) => formatDate(account.created_at) },
              ]}
            />
          )}
        </PageList>
      </Panel>
    </>
  )
}
