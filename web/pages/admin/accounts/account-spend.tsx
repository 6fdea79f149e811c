import type { OperatorAccountDetail } from '../../../../src/core/api/accounts.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { Money } from '../../../components/text/values.tsx'
import { formatCount, formatDay } from '../../../lib/format.ts'

/** The cost of the account's calls, day by day. */
export function AccountSpend({ spend }: { spend: OperatorAccountDetail['spend'] }) {
  return (
    <DataTable
      caption="Spend by day (UTC), newest first"
      rows={spend.toReversed()}
      empty="No calls in the last 30 days."
      rowKey={({ day }) => day}
      columns={{
        Day: ({ day }) => formatDay(day),
        Calls: ({ calls }) => formatCount(calls),
        Tokens: ({ total_tokens: tokens }) => formatCount(tokens),
        Charged: ({ cost_usd: usd }) => <Money usd={usd} />,
      }}
      numeric={['Calls', 'Tokens', 'Charged']}
    />
  )
}
