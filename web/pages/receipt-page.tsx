import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { Printer } from 'lucide-react'
import type { ReceiptView, TopUpView } from '../../src/core/api/billing.ts'
import { topUpQuery } from '../api/queries.ts'
import { Note, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { PageHead } from '../components/layout/page.tsx'
import { Money } from '../components/text/money.tsx'
import { Facts } from '../components/text/values.tsx'
import { formatMoment, RAIL_NAMES } from '../lib/format.ts'

/** One receipt, to print or to keep. */
export function ReceiptPage() {
  const { id } = useParams({ from: '/account/billing/receipts/$id' })
  return (
    <>
      <PageHead
        title="Receipt"
        actions={
          <>
            <Link to="/billing" className="button">
              Back to billing
            </Link>
            <Button onClick={() => window.print()}>
              <Printer size={16} aria-hidden="true" />
              Print
            </Button>
          </>
        }
      />
      <QueryView query={useQuery(topUpQuery(id))}>
        {(topUp) =>
          topUp.receipt ? (
            <Receipt topUp={topUp} receipt={topUp.receipt} />
          ) : (
            <Note>No receipt: this top-up has not been paid.</Note>
          )
        }
      </QueryView>
    </>
  )
}

function Receipt({ topUp, receipt }: { topUp: TopUpView; receipt: ReceiptView }) {
  return (
    <section className="panel panel-body" aria-label="Receipt">
      {topUp.test && <Note tone="warn">Test mode: no real payment was made.</Note>}
      <Facts
        rows={{
          'Receipt number': <code>{receipt.number}</code>,
          'Date issued': `${formatMoment(receipt.issued_at, 'UTC')} UTC`,
          'Billed to': receipt.billed_to,
          Description: receipt.description,
          'Payment method': RAIL_NAMES[receipt.method],
          Paid: <Money usd={receipt.paid_usd} />,
          Refunded: <Money usd={receipt.refunded_usd} />,
          'Total (USD)': (
            <strong>
              <Money usd={receipt.net_usd} />
            </strong>
          ),
        }}
      />
    </section>
  )
}
