import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { Printer } from 'lucide-react'
import type { ReceiptView, TopUpView } from '../../src/core/api/billing.ts'
import { topUpQuery } from '../api/queries.ts'
import { Note, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { PageHead } from '../components/layout/page.tsx'
import { Facts, Money } from '../components/text/values.tsx'
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
            <Note>There is no receipt for this top-up: the payment was not received.</Note>
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
      <Facts
        rows={{
          Number: <code>{receipt.number}</code>,
          Issued: formatMoment(receipt.issued_at),
          To: receipt.email,
          For: receipt.description,
          'Paid with': RAIL_NAMES[receipt.method],
          Paid: <Money usd={receipt.paid_usd} />,
          Refunded: <Money usd={receipt.refunded_usd} />,
          Total: (
            <strong>
              <Money usd={receipt.net_usd} />
            </strong>
          ),
        }}
      />
    </section>
  )
}
