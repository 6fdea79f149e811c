import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { OperatorAccountDetail } from '../../../src/core/api/accounts.ts'
import { accountQuery } from '../../api/operator-queries.ts'
import { QueryView } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { Identifier } from '../../components/text/copy.tsx'
import { AccountBillingPanels } from './accounts/account-billing.tsx'
import { BalanceDialog, LimitsDialog, SuspendDialog } from './accounts/account-dialogs.tsx'
import { AccountKeys } from './accounts/account-keys.tsx'
import { AccountLedger } from './accounts/account-ledger.tsx'
import { AccountSurfaces } from './accounts/account-surfaces.tsx'
import { AccountTopUps } from './accounts/account-top-ups.tsx'
import { AccountMemberships, AccountSpend, AccountStats } from './accounts/account-view.tsx'
import { InvitationDialog, InviteDialog } from './accounts/new-account-dialog.tsx'
import { OperatorButton } from './operator-button.tsx'
import { ActionTable } from './operators/action-table.tsx'

/** One account: its balance, keys, spend and top-ups, and the actions of operators. */
export function OperatorAccountPage() {
  const { id } = useParams({ from: '/operator/admin/accounts/$id' })
  const query = useQuery(accountQuery(id))
  return (
    <>
      <PageHead
        back={<Link to="/admin/accounts">← Accounts</Link>}
        title={query.data?.name ?? 'Account'}
        description={
          <>
            {query.data?.is_organisation && 'Organisation · '}
            <Identifier id={query.data?.id ?? id} of="the account ID" />
          </>
        }
      />
      <QueryView query={query}>{(account) => <Account account={account} />}</QueryView>
    </>
  )
}

function Account({ account }: { account: OperatorAccountDetail }) {
  const [open, setOpen] = useState<'credit' | 'adjust' | 'limits' | 'suspend' | 'resume' | 'invite' | null>(
    null,
  )
  const [link, setLink] = useState<string | null>(null)
  const isSuspended = account.state === 'suspended'
  const close = () => setOpen(null)
  return (
    <>
      <div className="row">
        <OperatorButton needs="billing.write" onClick={() => setOpen('credit')}>
          Credit
        </OperatorButton>
        <OperatorButton needs="billing.write" onClick={() => setOpen('adjust')}>
          Adjust balance
        </OperatorButton>
        <OperatorButton needs="accounts.write" onClick={() => setOpen('limits')}>
          Limits
        </OperatorButton>
        {isSuspended ? (
          <OperatorButton needs="accounts.suspend" onClick={() => setOpen('resume')}>
            Resume
          </OperatorButton>
        ) : (
          <OperatorButton needs="accounts.suspend" kind="danger" onClick={() => setOpen('suspend')}>
            Suspend
          </OperatorButton>
        )}
        {account.email !== null && (
          <OperatorButton needs="accounts.write" onClick={() => setOpen('invite')}>
            Send password link
          </OperatorButton>
        )}
        <Link to="/admin/calls" search={{ account: account.id }} className="button">
          View calls
        </Link>
      </div>
      <AccountStats account={account} />
      {account.memberships.length > 0 && (
        <Panel title={account.is_organisation ? 'Members' : 'Organisations'}>
          <AccountMemberships account={account} />
        </Panel>
      )}
      <AccountKeys accountId={account.id} keys={account.keys} hasHolder={account.has_holder} />
      <AccountLedger accountId={account.id} />
      <Panel title="Surfaces">
        <AccountSurfaces account={account} />
      </Panel>
      <Panel title="Spend, last 30 days">
        <AccountSpend spend={account.spend} />
      </Panel>
      <Panel title="Top-ups and suspensions">
        <AccountTopUps account={account} />
      </Panel>
      <AccountBillingPanels accountId={account.id} />
      <Panel
        title="Admin activity"
        actions={
          <Link to="/admin/actions" search={{ target: account.id }}>
            View all
          </Link>
        }
      >
        {account.actions.length === 0 ? (
          <p className="panel-body text-muted">None yet.</p>
        ) : (
          <ActionTable actions={account.actions} />
        )}
      </Panel>
      {(open === 'suspend' || open === 'resume') && (
        <SuspendDialog account={account} verb={open} onClose={close} />
      )}
      {open === 'invite' && (
        <InviteDialog account={account} onClose={close} onInvited={(invited) => setLink(invited.path)} />
      )}
      {link !== null && <InvitationDialog path={link} onClose={() => setLink(null)} />}
      {open === 'limits' && <LimitsDialog account={account} onClose={close} />}
      {(open === 'credit' || open === 'adjust') && (
        <BalanceDialog account={account} kind={open} onClose={close} />
      )}
    </>
  )
}
