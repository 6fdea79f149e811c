import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { OperatorAccountDetail } from '../../../src/core/api/accounts.ts'
import { accountQuery } from '../../api/operator-queries.ts'
import { QueryView } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { Identifier } from '../../components/text/copy.tsx'
import { BalanceDialog, LimitsDialog, SuspendDialog } from './accounts/account-dialogs.tsx'
import { AccountKeys } from './accounts/account-keys.tsx'
import { AccountLedger } from './accounts/account-ledger.tsx'
import { AccountBillingPanels, AccountTopUps } from './accounts/account-payments.tsx'
import { AccountAlarms, AccountCalls, AccountMails, AccountRefusals } from './accounts/account-story.tsx'
import { AccountSurfaces } from './accounts/account-surfaces.tsx'
import { AccountMemberships, AccountSpend, AccountStats } from './accounts/account-view.tsx'
import { InviteDialog } from './accounts/new-account-dialog.tsx'
import { OperatorButton } from './operator-button.tsx'
import { ActionTable } from './operators/audit-log.tsx'

/** The whole story of an account: calls, keys, ledger, payments, alarms, messages, and the actions of operators. */
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

const SECTIONS = [
  { id: 'calls', name: 'Calls' },
  { id: 'keys', name: 'Keys' },
  { id: 'ledger', name: 'Ledger' },
  { id: 'endpoints', name: 'Endpoints' },
  { id: 'spend', name: 'Spend' },
  { id: 'billing', name: 'Top-ups and invoices' },
  { id: 'alarms', name: 'Alarms' },
  { id: 'messages', name: 'Messages' },
  { id: 'activity', name: 'Admin activity' },
] as const

/** A part of the page that the links above lead to. */
const Section = ({ id, children }: { id: (typeof SECTIONS)[number]['id']; children: ReactNode }) => (
  <div id={id} className="stack scroll-mt-4 gap-8">
    {children}
  </div>
)

function Account({ account }: { account: OperatorAccountDetail }) {
  const isSuspended = account.state === 'suspended'
  return (
    <>
      <div className="row">
        <OperatorButton
          needs="billing.write"
          dialog={(close) => <BalanceDialog account={account} kind="credit" onClose={close} />}
        >
          Credit
        </OperatorButton>
        <OperatorButton
          needs="billing.write"
          dialog={(close) => <BalanceDialog account={account} kind="adjust" onClose={close} />}
        >
          Adjust balance
        </OperatorButton>
        <OperatorButton
          needs="accounts.write"
          dialog={(close) => <LimitsDialog account={account} onClose={close} />}
        >
          Limits
        </OperatorButton>
        <OperatorButton
          needs="accounts.suspend"
          kind={isSuspended ? undefined : 'danger'}
          dialog={(close) => (
            <SuspendDialog account={account} verb={isSuspended ? 'resume' : 'suspend'} onClose={close} />
          )}
        >
          {isSuspended ? 'Resume' : 'Suspend'}
        </OperatorButton>
        {account.email !== null && (
          <OperatorButton
            needs="accounts.write"
            dialog={(close) => <InviteDialog account={account} onClose={close} />}
          >
            Send password link
          </OperatorButton>
        )}
      </div>
      <AccountStats account={account} />
      {account.memberships.length > 0 && (
        <Panel title={account.is_organisation ? 'Members' : 'Organisations'}>
          <AccountMemberships account={account} />
        </Panel>
      )}
      <nav className="row gap-4 text-sm" aria-label="Sections">
        {SECTIONS.map(({ id, name }) => (
          <Link key={id} to="." hash={id}>
            {name}
          </Link>
        ))}
      </nav>
      <Section id="calls">
        <AccountCalls account={account} />
        <AccountRefusals accountId={account.id} />
      </Section>
      <Section id="keys">
        <AccountKeys accountId={account.id} keys={account.keys} hasHolder={account.has_holder} />
      </Section>
      <Section id="ledger">
        <AccountLedger accountId={account.id} />
      </Section>
      <Section id="endpoints">
        <Panel title="Endpoints on request">
          <AccountSurfaces account={account} />
        </Panel>
      </Section>
      <Section id="spend">
        <Panel title="Spend, last 30 days">
          <AccountSpend spend={account.spend} />
        </Panel>
      </Section>
      <Section id="billing">
        <Panel title="Top-ups and suspensions">
          <AccountTopUps account={account} />
        </Panel>
        <AccountBillingPanels accountId={account.id} />
      </Section>
      <Section id="alarms">
        <AccountAlarms accountId={account.id} />
      </Section>
      <Section id="messages">
        <AccountMails accountId={account.id} />
      </Section>
      <Section id="activity">
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
      </Section>
    </>
  )
}
