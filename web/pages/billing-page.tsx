import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import {
  autoTopUpQuery,
  billingDetailsQuery,
  billingQuery,
  invoicePdfPath,
  invoicesQuery,
  usageQuery,
} from '../api/queries.ts'
import { Note, QueryView, SkeletonLines } from '../components/feedback/messages.tsx'
import { LinkTabs } from '../components/layout/link-tabs.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { ListPanel } from '../components/table/data-table.tsx'
import { InvoiceTable } from '../components/table/invoice-table.tsx'
import { Money } from '../components/text/money.tsx'
import { Stats } from '../components/text/values.tsx'
import { forecastText } from '../lib/forecast.ts'
import { lastDays } from '../lib/format.ts'
import { AutoTopUpPanel, CardSetupReturn } from './billing/auto-top-up-panel.tsx'
import { BillingDetailsPanel } from './billing/billing-details-panel.tsx'
import { Statement, TopUpHistory } from './billing/movements.tsx'
import { SpendCapPanel } from './billing/spend-cap.tsx'
import { CheckoutReturn, TopUpForm } from './billing/top-up.tsx'

/** The balance, the form to top it up, and every movement of it, in tabs that have addresses. */
export function BillingPage() {
  const {
    tab,
    payment_id: paymentId,
    outcome,
    card_setup: cardSetup,
  } = useSearch({ from: '/account/billing' })
  const { data: details } = useQuery(billingDetailsQuery)
  return (
    <>
      <PageHead
        title="Billing"
        docs="billing"
        description="Prepaid: calls are charged to your balance. There is no subscription."
      />
      {paymentId && <CheckoutReturn id={paymentId} outcome={outcome} />}
      {cardSetup && outcome !== 'cancelled' && <CardSetupReturn id={cardSetup} />}
      <LinkTabs
        label="Parts of billing"
        tab={tab}
        parts={{
          Overview: <Overview />,
          'Top-ups & invoices': (
            <>
              <TopUpHistory />
              {details?.invoices && <InvoiceList />}
            </>
          ),
          Limits: (
            <div className="max-w-160">
              <SpendCapPanel />
            </div>
          ),
          // Without invoices there is no recipient to address.
          Details: details?.invoices !== false && (
            <div className="max-w-160">{details && <BillingDetailsPanel details={details} />}</div>
          ),
        }}
      />
    </>
  )
}

/** The days that a forecast needs. */
const FORECAST_DAYS = 8

function Overview() {
  const query = useQuery(billingQuery)
  const span = useMemo(() => lastDays(FORECAST_DAYS, new Date()), [])
  const { data: usage } = useQuery(usageQuery(span, 'day'))
  // Panels that came one by one would push those below them down.
  const { isPending: isWaiting } = useQuery(autoTopUpQuery)
  if (isWaiting && !query.error) return <SkeletonLines />
  return (
    <QueryView query={query}>
      {(billing) => (
        <>
          <Stats
            rows={{
              Balance: <Money usd={billing.balance_usd} />,
              'Reserved for running calls': <Money usd={billing.held_usd} />,
              'Available now': <Money usd={billing.available_usd} />,
              'Owed for reversed payments': billing.owed_usd !== '0.00' && <Money usd={billing.owed_usd} />,
            }}
            notes={{ 'Available now': forecastText(billing.available_usd, usage?.data ?? [], new Date()) }}
          />
          <div className="columns items-start">
            <Panel title="Top up" padded>
              {billing.rails.length > 0 ? (
                <TopUpForm billing={billing} />
              ) : (
                <Note>No payment method is configured. Ask the operator for credit.</Note>
              )}
            </Panel>
            <AutoTopUpPanel />
          </div>
          <Statement />
        </>
      )}
    </QueryView>
  )
}

/** Every invoice and credit note, to download. */
const InvoiceList = () => (
  <ListPanel title="Invoices" query={invoicesQuery} empty="No invoices yet.">
    {(invoices) => (
      <InvoiceTable
        caption="Invoices, newest first"
        invoices={invoices}
        pdfPath={invoicePdfPath}
        hasReceipts
      />
    )}
  </ListPanel>
)
