import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { Printer } from 'lucide-react'
import type { ReceiptView, TopUpView } from '../../src/core/api/billing.ts'
import { topUpQuery } from '../api/queries.ts'
import { Money } from '../components/money.tsx'
import { Note } from '../components/note.tsx'
import { PageHead } from '../components/page-head.tsx'
import { QueryView } from '../components/query-view.tsx'
import { formatMoment } from '../lib/dates.ts'
import { railName } from './billing/rail-name.ts'

/** One receipt, to keep or to print. */
export function ReceiptPage() {
  const { id } = useParams({ from: '/account/billing/receipts/$id' })
  const query = useQuery(topUpQuery(id))
  return (
    <>
      <PageHead
        title="Receipt"
        actions={
          <>
            <Link to="/billing" className="button">
              Back to billing
            </Link>
            <button type="button" className="button" onClick={() => window.print()}>
              <Printer size={16} aria-hidden="true" />
              Print
            </button>
          </>
        }
      />
      <QueryView query={query}>
        {(topUp) =>
          topUp.receipt ? (
            <Receipt topUp={topUp} receipt={topUp.receipt} />
          ) : (
            <Note>There is no receipt for this top-up: the money is not in.</Note>
          )
        }
      </QueryView>
    </>
  )
}

function Receipt({ topUp, receipt }: { topUp: TopUpView; receipt: ReceiptView }) {
  return (
    <section className="panel panel-body" aria-label="Receipt">
      {topUp.test && <Note tone="warn">Test money: nothing was paid.</Note>}
      <dl className="facts">
        <dt>Number</dt>
        <dd>
          <code>{receipt.number}</code>
        </dd>
        <dt>Issued</dt>
        <dd>{formatMoment(receipt.issued_at)}</dd>
        <dt>To</dt>
        <dd>{receipt.email}</dd>
        <dt>For</dt>
        <dd>{receipt.description}</dd>
        <dt>Paid with</dt>
        <dd>{railName(receipt.method)}</dd>
        <dt>Paid</dt>
        <dd>
          <Money usd={receipt.paid_usd} />
        </dd>
        <dt>Refunded</dt>
        <dd>
          <Money usd={receipt.refunded_usd} />
        </dd>
        <dt>Total</dt>
        <dd>
          <strong>
            <Money usd={receipt.net_usd} />
          </strong>
        </dd>
      </dl>
    </section>
  )
}
