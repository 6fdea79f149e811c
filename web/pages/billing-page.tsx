import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { FileText } from 'lucide-react'
import { billingDetailsQuery, billingQuery, invoicePdfPath, invoicesQuery } from '../api/queries.ts'
import { Note, QueryView } from '../components/feedback/messages.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { ListPanel } from '../components/table/data-table.tsx'
import { InvoiceTable } from '../components/table/invoice-table.tsx'
import { Money } from '../components/text/money.tsx'
import { Stats } from '../components/text/values.tsx'
import { AutoTopUpPanel, CardSetupReturn } from './billing/auto-top-up-panel.tsx'
import { BillingDetailsPanel } from './billing/billing-details-panel.tsx'
import { Statement, TopUpHistory } from './billing/movements.tsx'
import { SpendCapPanel } from './billing/spend-cap.tsx'
import { CheckoutReturn, TopUpForm } from './billing/top-up.tsx'

/** The balance, the form to top it up, and every movement of it. */
export function BillingPage() {
  const { payment_id: paymentId, outcome, card_setup: cardSetup } = useSearch({ from: '/account/billing' })
  return (
    <>
      <PageHead
        title="Billing"
        docs="billing"
        description="Prepaid: calls are charged to your balance. There is no subscription."
      />
      {paymentId && <CheckoutReturn id={paymentId} outcome={outcome} />}
      {cardSetup && outcome !== 'cancelled' && <CardSetupReturn id={cardSetup} />}
      <QueryView query={useQuery(billingQuery)}>
        {(billing) => (
          <>
            <Stats
              rows={{
                Balance: <Money usd={billing.balance_usd} />,
                'Reserved for running calls': <Money usd={billing.held_usd} />,
                'Available now': <Money usd={billing.available_usd} />,
                'Owed for reversed payments': billing.owed_usd !== '0.00' && <Money usd={billing.owed_usd} />,
              }}
            />
            <Panel title="Top up" padded>
              {billing.rails.length > 0 ? (
                <TopUpForm billing={billing} />
              ) : (
                <Note>No payment method is configured. Ask the operator for credit.</Note>
              )}
            </Panel>
          </>
        )}
      </QueryView>
      <AutoTopUpPanel />
      <SpendCapPanel />
      <TopUpHistory />
      <Invoices />
      <Statement />
    </>
  )
}

/** Nothing where none are issued, nor were. */
function Invoices() {
  const { data } = useQuery(billingDetailsQuery)
  return (
    data?.invoices && (
      <>
        <InvoiceList />
        <BillingDetailsPanel details={data} />
      </>
    )
  )
}

/** Every invoice and credit note, to download. */
const InvoiceList = () => (
  <ListPanel title="Invoices" query={invoicesQuery} icon={FileText} empty="No invoices yet.">
    {(invoices) => (
      <InvoiceTable
        caption="Invoices, newest first"
        invoices={invoices}
        pdfPath={invoicePdfPath}
        isPrinted
        hasReceipts
      />
    )}
  </ListPanel>
)
