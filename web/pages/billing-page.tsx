import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import type { BillingView } from '../../src/core/api/billing.ts'
import { billingQuery } from '../api/queries.ts'
import { Money } from '../components/money.tsx'
import { Note } from '../components/note.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { QueryView } from '../components/query-view.tsx'
import { CheckoutReturn } from './billing/checkout-return.tsx'
import { Statement } from './billing/statement.tsx'
import { TopUpForm } from './billing/top-up-form.tsx'
import { TopUpHistory } from './billing/top-up-history.tsx'

/** The balance, the way to fill it, and everything that ever moved it. */
export function BillingPage() {
  const query = useQuery(billingQuery)
  const { payment_id: paymentId, outcome } = useSearch({ from: '/account/billing' })
  return (
    <>
      <PageHead
        title="Billing"
        description="Prepaid: you pay for what you use, from a balance you fill. Nothing renews."
      />
      {paymentId && <CheckoutReturn id={paymentId} outcome={outcome} />}
      <QueryView query={query}>
        {(billing) => (
          <>
            <BalanceFigures billing={billing} />
            <Panel title="Top up">
              <div className="panel-body">
                {billing.rails.length > 0 ? (
                  <TopUpForm billing={billing} />
                ) : (
                  <Note>No way to pay is set up at this gateway. Ask its operator for credit.</Note>
                )}
              </div>
            </Panel>
          </>
        )}
      </QueryView>
      <TopUpHistory />
      <Statement />
    </>
  )
}

function BalanceFigures({ billing }: { billing: BillingView }) {
  return (
    <dl className="figures">
      <div className="figure">
        <dt>Balance</dt>
        <dd>
          <Money usd={billing.balance_usd} />
        </dd>
      </div>
      <div className="figure">
        <dt>Held by running calls</dt>
        <dd>
          <Money usd={billing.held_usd} />
        </dd>
      </div>
      <div className="figure">
        <dt>Available now</dt>
        <dd>
          <Money usd={billing.available_usd} />
        </dd>
      </div>
      {billing.owed_usd !== '0.00' && (
        <div className="figure">
          <dt>Owed for money taken back</dt>
          <dd>
            <Money usd={billing.owed_usd} />
          </dd>
        </div>
      )}
    </dl>
  )
}
