import { Link } from '@tanstack/react-router'
import type { LedgerRow, TopUpView } from '../../../src/core/api/billing.ts'
import { ledgerQuery, topUpsQuery } from '../../api/queries.ts'
import { DataTable, ListPanel } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { Badge, Moment, StateBadge } from '../../components/text/values.tsx'
import { BALANCE_ENTRY_NAMES } from '../../lib/balance-entries.ts'
import { formatDay, formatMoment, plural, RAIL_NAMES, topUpStateName } from '../../lib/format.ts'

/** Every top-up, with its receipt once the money was in. */
export const TopUpHistory = () => (
  <ListPanel title="Top-ups" query={topUpsQuery} empty="No top-ups yet.">
    {(topUps) => (
      <DataTable
        caption="Top-ups, newest first"
        rows={topUps}
        rowKey={({ payment_id }) => payment_id}
        columns={{
          Date: (topUp) => <Moment at={topUp.created_at} />,
          Amount: (topUp) => <Money usd={topUp.amount_usd} />,
          'Payment method': ({ rail, automatic }) => `${RAIL_NAMES[rail]}${automatic ? ', automatic' : ''}`,
          Status: (topUp) => <StateOf topUp={topUp} />,
          Receipt: (topUp) => <Next topUp={topUp} />,
        }}
        numeric={['Receipt']}
        cents={['Amount']}
      />
    )}
  </ListPanel>
)

const StateOf = ({ topUp }: { topUp: TopUpView }) => (
  <span className="row">
    <StateBadge
      state={topUp.state}
      name={topUpStateName(topUp.state, Number(topUp.refunded_usd) < Number(topUp.amount_usd))}
    />
    {topUp.test && <Badge>test</Badge>}
    {topUp.refunded_usd !== '0.00' && (
      <span className="text-sm">
        <Money usd={topUp.refunded_usd} /> refunded
      </span>
    )}
    {topUp.failure_reason && <span className="text-sm text-muted">{topUp.failure_reason}</span>}
  </span>
)

function Next({ topUp }: { topUp: TopUpView }) {
  if (topUp.receipt) {
    return (
      <Link to="/billing/receipts/$id" params={{ id: topUp.payment_id }} className="text-accent">
        Receipt<span className="sr-only"> of {formatMoment(topUp.created_at)}</span>
      </Link>
    )
  }
  return topUp.checkout_url ? (
    <a href={topUp.checkout_url} className="text-accent">
      Pay now
    </a>
  ) : (
    '–'
  )
}

export const MOVEMENT_NAMES: Record<LedgerRow['kind'], string> = {
  charges: 'Calls',
  credit: 'Credit',
  adjustment: 'Adjustment',
  ...BALANCE_ENTRY_NAMES,
}

/** Every movement of the balance; the calls of a day are one line. */
export const Statement = () => (
  <ListPanel
    title="Statement"
    actions={
      <Link to="/billing/statements/$month" params={{ month: new Date().toISOString().slice(0, 7) }}>
        Monthly statements
      </Link>
    }
    query={ledgerQuery}
    empty="No transactions yet."
  >
    {(rows) => (
      <>
        <p className="panel-body text-sm text-muted">
          The sum of all rows is exactly your balance. Failed calls are free and not listed.
        </p>
        <DataTable
          caption="Transactions, newest first"
          rows={rows}
          columns={{
            Description: (row) => <What row={row} />,
            Date: (row) => (row.day ? `${formatDay(row.day)} (UTC)` : <Moment at={row.at} />),
            Amount: (row) => <Money usd={row.amount_usd} signed />,
          }}
          numeric={['Amount']}
        />
      </>
    )}
  </ListPanel>
)

const What = ({ row }: { row: LedgerRow }) => (
  <span>
    {MOVEMENT_NAMES[row.kind]}
    {row.calls !== null && <span className="text-muted"> · {plural(row.calls, 'charged call')}</span>}
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
