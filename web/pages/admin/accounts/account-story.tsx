import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { OperatorAccountDetail, SentMailView } from '../../../../src/core/api/accounts.ts'
import { accountCallsQuery, accountMailsQuery, alarmsQuery } from '../../../api/operator-queries.ts'
import { QueryView } from '../../../components/feedback/messages.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { CallTable, operatorCallRow } from '../../../components/table/call-table.tsx'
import { DataTable, ListPanel } from '../../../components/table/data-table.tsx'
import { StateBadge } from '../../../components/text/values.tsx'
import { formatMoment, lastDays } from '../../../lib/format.ts'
import { AlarmTable } from '../alarms/alarm-table.tsx'

type Account = Pick<OperatorAccountDetail, 'id' | 'keys'>

/** The latest calls of an account, with the way to all of them. */
export function AccountCalls({ account: { id, keys } }: { account: Account }) {
  const { from } = useMemo(() => lastDays(30, new Date()), [])
  const names = new Map(keys.map((key) => [key.id, key.name || 'unnamed']))
  return (
    <Panel
      title="Latest calls"
      actions={
        <span className="row gap-x-4">
          <Link to="/admin/calls" search={{ account: id, tab: 'requests', days: '30' }}>
            Refused requests
          </Link>
          <Link to="/admin/calls" search={{ account: id }}>
            View all
          </Link>
        </span>
      }
    >
      <QueryView query={useQuery(accountCallsQuery(id, from))}>
        {({ data }) => (
          <CallTable
            rows={data.map((call) =>
              operatorCallRow(call, names.get(call.key_id) ?? <code>{call.key_id}</code>),
            )}
            of="Key"
            empty="No calls in the last 30 days."
          />
        )}
      </QueryView>
    </Panel>
  )
}

/** Every alarm about the account, open or not. */
export const AccountAlarms = ({ accountId }: { accountId: string }) => (
  <ListPanel title="Alarms" query={alarmsQuery('all', accountId)} empty="No alarms about this account.">
    {(alarms) => <AlarmTable alarms={alarms} />}
  </ListPanel>
)

/** The messages that were sent about the account, and to its holder. */
export const AccountMails = ({ accountId }: { accountId: string }) => (
  <ListPanel
    title="Messages sent"
    query={accountMailsQuery(accountId)}
    empty="No messages in the last 90 days."
  >
    {(mails) => (
      <DataTable
        caption="Messages about the account, newest first"
        rows={mails}
        columns={{
          Message: ({ kind }) => mailName(kind),
          To: ({ recipient }) => <span className="wrap-anywhere">{recipient}</span>,
          Outcome: ({ outcome }) => <StateBadge state={outcome} name={OUTCOMES[outcome]} />,
          When: (mail) => formatMoment(mail.created_at),
        }}
      />
    )}
  </ListPanel>
)

const OUTCOMES: Record<SentMailView['outcome'], string> = {
  sent: 'sent',
  refused: 'recipient unknown',
  failed: 'not sent',
}

/** Messages by their kinds, in words. */
export const mailName = (kind: string): string => MAIL_NAMES[kind] ?? kind

const MAIL_NAMES: Readonly<Record<string, string>> = {
  'verify-email': 'Verify your email address',
  'reset-password': 'Reset your password',
  'account-opened': 'Account opened',
  'change-email': 'Confirm the new address',
  'email-changed': 'Address changed',
  notice: 'Security notice',
  invitation: 'Invitation',
  'balance-low': 'Balance low',
  'balance-exhausted': 'Balance used up',
  receipt: 'Receipt',
  'auto-top-up-paused': 'Automatic top-up paused',
  'key-limit-reached': 'Limit of a key reached',
  'member-budget-reached': 'Budget of a member reached',
  'spend-cap-reached': 'Spend cap reached',
  'provider-key-failing': 'Provider key failing',
  'provider-key-added': 'Provider key added',
}
