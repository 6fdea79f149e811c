import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { OperatorAccountDetail } from '../../../src/core/api/accounts.ts'
import { accountQuery } from '../../api/operator-queries.ts'
import { Identifier } from '../../components/identifier.tsx'
import { PageHead } from '../../components/page-head.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { AccountFigures } from './accounts/account-figures.tsx'
import { AccountKeys } from './accounts/account-keys.tsx'
import { AccountLimitsDialog } from './accounts/account-limits-dialog.tsx'
import { AccountSpend } from './accounts/account-spend.tsx'
import { AccountTopUps } from './accounts/account-top-ups.tsx'
import { type BalanceDeed, BalanceDialog } from './accounts/balance-dialog.tsx'
import { SuspendDialog } from './accounts/suspend-dialog.tsx'
import { ActionTable } from './action-table.tsx'

/** One account: its money, keys, spend and top-ups, and what operators may do to it. */
export function OperatorAccountPage() {
  const { id } = useParams({ from: '/operator/admin/accounts/$id' })
  const query = useQuery(accountQuery(id))
  return (
    <>
      <nav className="breadcrumb" aria-label="Breadcrumb">
        <Link to="/admin/accounts">← Accounts</Link>
      </nav>
      <PageHead
        title={query.data?.email ?? 'Account'}
        description={<Identifier id={query.data?.id ?? id} of="the account id" />}
      />
      <QueryView query={query}>{(account) => <Account account={account} />}</QueryView>
    </>
  )
}

function Account({ account }: { account: OperatorAccountDetail }) {
  const [deed, setDeed] = useState<BalanceDeed | 'limits' | 'suspend' | 'resume' | null>(null)
  const isSuspended = account.state === 'suspended'
  const close = () => setDeed(null)
  return (
    <>
      <div className="button-row">
        <button type="button" className="button" onClick={() => setDeed('credit')}>
          Credit
        </button>
        <button type="button" className="button" onClick={() => setDeed('adjust')}>
          Adjust the balance
        </button>
        <button type="button" className="button" onClick={() => setDeed('limits')}>
          Limits
        </button>
        <button
          type="button"
          className={isSuspended ? 'button' : 'button button-danger'}
          onClick={() => setDeed(isSuspended ? 'resume' : 'suspend')}
        >
          {isSuspended ? 'Resume' : 'Suspend'}
        </button>
        <Link to="/admin/calls" search={{ account: account.id }} className="button">
          See its calls
        </Link>
      </div>
      <AccountFigures account={account} />
      <Panel title="Keys">
        <AccountKeys accountId={account.id} keys={account.keys} />
      </Panel>
      <Panel title="Spend, last 30 days">
        <AccountSpend spend={account.spend} />
      </Panel>
      <Panel title="Top-ups and suspensions">
        <AccountTopUps topUps={account.top_ups} suspensions={account.suspensions} />
      </Panel>
      <Panel
        title="What operators did"
        actions={
          <Link to="/admin/actions" search={{ target: account.id }}>
            All of it
          </Link>
        }
      >
        {account.actions.length === 0 ? (
          <p className="panel-body muted">Nothing yet.</p>
        ) : (
          <ActionTable actions={account.actions} />
        )}
      </Panel>
      <SuspendDialog
        account={account}
        verb={deed === 'suspend' || deed === 'resume' ? deed : null}
        onClose={close}
      />
      <AccountLimitsDialog account={account} isOpen={deed === 'limits'} onClose={close} />
      <BalanceDialog
        account={account}
        deed={deed === 'credit' || deed === 'adjust' ? deed : null}
        onClose={close}
      />
    </>
  )
}
