import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ScrollText } from 'lucide-react'
import type { LedgerRow } from '../../../src/core/api/billing.ts'
import { ledgerQuery } from '../../api/queries.ts'
import { Panel } from '../../components/layout/page.tsx'
import { DataTable, PageList } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/values.tsx'
import { formatDay, formatMoment, plural } from '../../lib/format.ts'

const NAMES: Record<LedgerRow['kind'], string> = {
  charges: 'Calls',
  free_credit: 'Free credit',
  credit: 'Credit from the operator',
  adjustment: 'Correction',
  topup: 'Top-up',
  refund: 'Refund',
  refund_reversal: 'Refund reversed',
  dispute: 'Withheld for a dispute',
  dispute_won: 'Dispute won',
  dispute_lost: 'Dispute lost',
  collection: 'Payment of an amount owed',
}

/** Every movement of the balance; the calls of a day are one line. */
export function Statement() {
  const query = useInfiniteQuery(ledgerQuery)
  return (
    <Panel title="Statement">
      <PageList query={query} icon={ScrollText} empty="The balance has no movements yet.">
        {(rows) => (
          <>
            <p className="panel-body small muted">
              The sum of all lines is your balance, exactly. Days are UTC.
            </p>
            <DataTable
              caption="Movements of the balance, newest first"
              rows={rows}
              columns={{
                What: (row) => <What row={row} />,
                When: (row) => (row.day ? formatDay(row.day) : formatMoment(row.at)),
                Change: (row) => <Money usd={row.amount_usd} signed />,
              }}
              numeric={['Change']}
            />
          </>
        )}
      </PageList>
    </Panel>
  )
}

function What({ row }: { row: LedgerRow }) {
  return (
    <span>
      {NAMES[row.kind]}
      {row.calls !== null && <span className="muted"> · {plural(row.calls, 'call')}</span>}
      {row.note && <span className="muted"> · {row.note}</span>}
      {row.top_up_id && (
        <>
          {' · '}
          <Link to="/billing/receipts/$id" params={{ id: row.top_up_id }}>
            receipt
          </Link>
        </>
      )}
    </span>
  )
}
