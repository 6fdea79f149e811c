import type { OperatorAccountDetail } from '../../../../src/core/api/accounts.ts'
import { Money, Stats } from '../../../components/text/values.tsx'
import { plural, rateLimitsText } from '../../../lib/format.ts'
import { AccountState } from './account-state.tsx'

/** The balance in the ledger, beside what the holds in Redis leave to spend. */
export function AccountStats({ account }: { account: OperatorAccountDetail }) {
  const { requests_per_minute: requests, concurrent_calls: calls, open_holds: holds } = account
  return (
    <Stats
      rows={{
        State: <AccountState state={account.state} />,
        'Balance (ledger)': <Money usd={account.balance_usd} />,
        'Available now': <Money usd={account.available_usd} />,
        'Held by running calls': <Money usd={account.held_usd} />,
        'Limits over all keys': (requests !== null || calls !== null) && rateLimitsText(requests, calls),
        'Owed to us': account.owed_usd !== '0.00' && <Money usd={account.owed_usd} />,
      }}
      notes={{
        'Available now': account.available_usd === null && 'Redis does not respond',
        'Held by running calls': holds !== null && plural(holds, 'hold'),
      }}
    />
  )
}
