import type { OperatorAccountDetail } from '../../../../src/core/api/accounts.ts'
import { DataTable } from '../../../components/data-table.tsx'
import { Money } from '../../../components/money.tsx'
import { formatDay } from '../../../lib/dates.ts'
import { formatCount } from '../../../lib/figures.ts'

/** What calls cost the account, day by day. */
export function AccountSpend({ spend }: { spend: OperatorAccountDetail['spend'] }) {
  if (spend.length === 0) return <p className="panel-body muted">No calls in the last 30 days.</p>
  return (
    <DataTable
      caption="Spend by day (UTC), newest first"
      rows={spend.toReversed()}
      rowKey={({ day }) => day}
      columns={[
        { header: 'Day', title: true, cell: ({ day }) => formatDay(day) },
        { header: 'Calls', numeric: true, cell: ({ calls }) => formatCount(calls) },
        { header: 'Tokens', numeric: true, cell: ({ total_tokens: tokens }) => formatCount(tokens) },
        { header: 'Charged', numeric: true, cell: ({ cost_usd: usd }) => <Money usd={usd} /> },
      ]}
    />
  )
}
