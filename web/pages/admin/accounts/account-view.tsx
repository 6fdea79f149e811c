import { Link } from '@tanstack/react-router'
import type { OperatorAccount, OperatorAccountDetail } from '../../../../src/core/api/accounts.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { Breakable } from '../../../components/text/code.tsx'
import { Money } from '../../../components/text/money.tsx'
import { StateBadge, Stats } from '../../../components/text/values.tsx'
import { formatMoment, plural, rateLimitsText } from '../../../lib/format.ts'

/** The balance in the ledger, beside what the holds in Redis leave to spend. */
export function AccountStats({ account }: { account: OperatorAccountDetail }) {
  const { requests_per_minute: requests, concurrent_calls: calls, open_holds: holds } = account
  return (
    <Stats
      rows={{
        State: <AccountState state={account.state} />,
        'Balance (ledger)': <Money usd={account.balance_usd} />,
        'Available now': <Money usd={account.available_usd} />,
        'Reserved for running calls': <Money usd={account.held_usd} />,
        'Limit across all keys': (requests !== null || calls !== null) && rateLimitsText(requests, calls),
        'Slowed down since': account.slowed_at !== null && formatMoment(account.slowed_at),
        'Monthly spend cap': account.monthly_limit_usd !== null && <Money usd={account.monthly_limit_usd} />,
        'Amount owed': account.owed_usd !== '0.00' && <Money usd={account.owed_usd} />,
      }}
      notes={{
        'Available now': account.available_usd === null && 'unknown: Redis does not respond',
        'Reserved for running calls': holds !== null && plural(holds, 'hold'),
      }}
    />
  )
}

const STATES: Partial<Record<OperatorAccount['state'], string>> = {
  free_credit: 'free credit',
  exhausted: 'no balance',
}

export const AccountState = ({ state }: { state: OperatorAccount['state'] }) => (
  <StateBadge state={state} name={STATES[state]} />
)

/** Who may act on an organisation, or the organisations that a person may act on. */
export const AccountMemberships = ({ account }: { account: OperatorAccountDetail }) => (
  <DataTable
    caption={account.is_organisation ? 'Members of the organisation' : 'Organisations of the person'}
    rows={account.memberships}
    rowKey={({ account_id: id }) => id}
    columns={{
      Account: ({ account_id: id, name }) => (
        <Link to="/admin/accounts/$id" params={{ id }}>
          <Breakable text={name} />
        </Link>
      ),
      Role: ({ role }) => role,
    }}
  />
)
