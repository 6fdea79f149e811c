import { Link } from '@tanstack/react-router'
import { Receipt, ScrollText } from 'lucide-react'
import type { LedgerRow, TopUpView } from '../../../src/core/api/billing.ts'
import { ledgerQuery, topUpsQuery } from '../../api/queries.ts'
import { DataTable, ListPanel } from '../../components/table/data-table.tsx'
import { Badge, Money, StateBadge } from '../../components/text/values.tsx'
import { formatDay, formatMoment, plural, RAIL_NAMES } from '../../lib/format.ts'

/** Every top-up, with its receipt once the money was in. */
export function TopUpHistory() {
  return (
    <ListPanel
      title="Top-ups"
      query={topUpsQuery}
      icon={Receipt}
      empty="No top-ups yet. The first one appears here with its receipt."
    >
      {(topUps) => (
        <DataTable
          caption="Top-ups, newest first"
          rows={topUps}
          columns={{
            When: (topUp) => formatMoment(topUp.created_at),
            Amount: (topUp) => <Money usd={topUp.amount_usd} />,
            'Paid with': (topUp) => RAIL_NAMES[topUp.rail],
            State: (topUp) => <StateOf topUp={topUp} />,
            Receipt: (topUp) => <Next topUp={topUp} />,
          }}
          numeric={['Receipt']}
        />
      )}
    </ListPanel>
  )
}

function StateOf({ topUp }: { topUp: TopUpView }) {
  return (
    <span className="row">
      <StateBadge state={topUp.state} />
      {topUp.test && <Badge>test</Badge>}
      {topUp.refunded_usd !== '0.00' && (
        <span className="text-sm">
          <Money usd={topUp.refunded_usd} /> refunded
        </span>
      )}
      {topUp.failure_reason && <span className="text-sm text-muted">{topUp.failure_reason}</span>}
    </span>
  )
}

function Next({ topUp }: { topUp: TopUpView }) {
  if (topUp.receipt) {
    return (
      <Link to="/billing/receipts/$id" params={{ id: topUp.id }}>
        Receipt<span className="sr-only"> of {formatMoment(topUp.created_at)}</span>
      </Link>
    )
  }
  return topUp.checkout_url ? <a href={topUp.checkout_url}>Pay now</a> : '–'
}

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
  call_payment: 'Payment for one call',
  call_payment_closed: 'Rest of a payment for one call',
}

/** Every movement of the balance; the calls of a day are one line. */
export function Statement() {
  return (
    <ListPanel
      title="Statement"
      query={ledgerQuery}
      icon={ScrollText}
      empty="The balance has no movements yet."
    >
      {(rows) => (
        <>
          <p className="panel-body text-sm text-muted">
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
    </ListPanel>
  )
}

function What({ row }: { row: LedgerRow }) {
  return (
    <span>
      {NAMES[row.kind]}
      {row.calls !== null && <span className="text-muted"> · {plural(row.calls, 'call')}</span>}
      {row.note && <span className="text-muted"> · {row.note}</span>}
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
