import { useQuery } from '@tanstack/react-query'
import { Link, useParams, useSearch } from '@tanstack/react-router'
import type { OperatorAccountDetail } from '../../../src/core/api/accounts.ts'
import { accountQuery } from '../../api/operator-queries.ts'
import { SpendByDay } from '../../components/chart/spend-by-day.tsx'
import { QueryView } from '../../components/feedback/messages.tsx'
import { LinkTabs } from '../../components/layout/link-tabs.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { ActionTable } from '../../components/table/action-table.tsx'
import { Identifier } from '../../components/text/copy.tsx'
import { daysOf, lastDays } from '../../lib/format.ts'
import { BalanceDialog, LimitsDialog, SuspendDialog } from './accounts/account-dialogs.tsx'
import { AccountKeys } from './accounts/account-keys.tsx'
import { AccountLedger } from './accounts/account-ledger.tsx'
import { AccountBillingPanels, AccountTopUps } from './accounts/account-payments.tsx'
import { AccountAlarms, AccountCalls, AccountMails } from './accounts/account-story.tsx'
import { AccountTimelinePanel } from './accounts/account-timeline-panel.tsx'
import { AccountMemberships, AccountStats } from './accounts/account-view.tsx'
import { InviteDialog } from './accounts/new-account-dialog.tsx'
import { OperatorButton, OperatorMenu } from './operator-button.tsx'

/** The whole story of an account: what happened lately, and its calls, money, access and log, each in a tab. */
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
  const isSuspended = account.state === 'suspended'
  const { tab } = useSearch({ from: '/operator/admin/accounts/$id' })
  return (
    <>
      <div className="row">
        <OperatorButton
          needs="billing.write"
          dialog={(close) => <BalanceDialog account={account} kind="credit" onClose={close} />}
        >
          Credit
        </OperatorButton>
        <OperatorMenu
          about={`the account ${account.name}`}
          actions={[
            {
              name: 'Adjust balance',
              needs: 'billing.write',
              dialog: (close) => <BalanceDialog account={account} kind="adjust" onClose={close} />,
            },
            {
              name: 'Limits',
              needs: 'accounts.write',
              dialog: (close) => <LimitsDialog account={account} onClose={close} />,
            },
            account.email !== null && {
              name: 'Send password link',
              needs: 'accounts.write',
              dialog: (close) => <InviteDialog account={account} onClose={close} />,
            },
            {
              name: isSuspended ? 'Resume' : 'Suspend',
              needs: 'accounts.suspend',
              dialog: (close) => (
                <SuspendDialog account={account} verb={isSuspended ? 'resume' : 'suspend'} onClose={close} />
              ),
            },
          ]}
        />
      </div>
      <LinkTabs
        label="Parts of the account"
        tab={tab}
        parts={{
          Overview: (
            <>
              <AccountStats account={account} />
              <Panel title="Spend, last 30 days" padded>
                <SpendByDay {...daysOf(lastDays(30, new Date()))} spend={account.spend} />
              </Panel>
              <AccountTimelinePanel account={account} />
            </>
          ),
          Calls: <AccountCalls account={account} />,
          Money: (
            <>
              <Panel title="Top-ups and suspensions">
                <AccountTopUps account={account} />
              </Panel>
              <AccountLedger accountId={account.id} />
              <AccountBillingPanels accountId={account.id} />
            </>
          ),
          Access: (
            <>
              <AccountKeys keys={account.keys} hasHolder={account.has_holder} />
              {account.memberships.length > 0 && (
                <Panel title={account.is_organisation ? 'Members' : 'Organisations'}>
                  <AccountMemberships account={account} />
                </Panel>
              )}
            </>
          ),
          Log: (
            <>
              <Panel
                title="Admin activity"
                actions={
                  <Link to="/admin/actions" search={{ target: account.id }}>
                    View all
                  </Link>
                }
              >
                <ActionTable actions={account.actions} />
              </Panel>
              <AccountAlarms accountId={account.id} />
              <AccountMails accountId={account.id} />
            </>
          ),
        }}
      />
    </>
  )
}
