import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import type { BillingView, NewTopUpBody, RailName, TopUpView } from '../../../src/core/api/billing.ts'
import { billingQuery, invoicesQuery, ledgerQuery, sessionQuery, topUpQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { ErrorNote, Note } from '../../components/feedback/messages.tsx'
import { showToast } from '../../components/feedback/toasts.tsx'
import { ChoiceField } from '../../components/form/fields.tsx'
import { Form, Submit, useForm } from '../../components/form/form.tsx'
import { isWholeCents } from '../../lib/checks.ts'
import { formatAmount, RAIL_NAMES } from '../../lib/format.ts'

const CUSTOM = 'custom'

/** Chooses an amount and a payment method, and leads on to the payment page. */
export function TopUpForm({ billing }: { billing: BillingView }) {
  const { presets_usd: presets, min_usd: min, max_usd: max, rails } = billing
  const [choice, setChoice] = useState(presets[1] ?? presets[0] ?? CUSTOM)
  const [rail, setRail] = useState<RailName>(rails[0] ?? 'card')
  const isCustom = choice === CUSTOM
  const amountOf = (typed: string) => (isCustom ? typed.trim() : choice)
  const problemOf = (amount: string) =>
    isWholeCents(amount) && Number(amount) >= Number(min) && Number(amount) <= Number(max)
      ? null
      : `Enter an amount from ${formatAmount(min)} to ${formatAmount(max)}, in whole cents.`
  const client = useQueryClient()
  const form = useForm({
    fields: {
      amount_usd: {
        label: 'Other amount (USD)',
        inputMode: 'decimal',
        placeholder: '40.00',
        hint: `From ${formatAmount(min)} to ${formatAmount(max)}.`,
        check: (typed) => problemOf(amountOf(typed)),
      },
    },
    send: ({ amount_usd: typed }) => {
      const body: NewTopUpBody = { amount_usd: amountOf(typed), rail }
      return requestJson<TopUpView>('POST', '/console/api/top-ups', body)
    },
    stale: ['billing', 'top-ups', 'invoices', 'ledger', 'visitor'].map((read) => `/console/api/${read}`),
    onDone: (opened) => {
      if (opened.checkout_url) window.location.assign(opened.checkout_url)
      else {
        showToast(`${formatAmount(opened.amount_usd)} added to your balance.`)
        refreshInvoicesLater(client)
      }
    },
  })
  const amount = amountOf(form.values.amount_usd)
  return (
    <Form form={isCustom ? form : { ...form, isFieldError: false }}>
      <ChoiceField
        label="Amount"
        value={choice}
        onChange={setChoice}
        options={[
          ...presets.map((usd) => ({ value: usd, name: formatAmount(usd).replace(/\.00$/, '') })),
          { value: CUSTOM, name: 'Other' },
        ]}
      />
      {isCustom && form.input('amount_usd')}
      <ChoiceField
        label="Pay with"
        value={rail}
        onChange={(value) => setRail(value as RailName)}
        options={rails.map((name) => ({ value: name, name: RAIL_NAMES[name] }))}
      />
      {rail === 'development' && (
        <Note tone="warn">
          Test mode: no real payment is made. The amount is added to your balance immediately.
        </Note>
      )}
      <div>
        <Submit form={form} kind="primary" pending="Opening …">
          {problemOf(amount) === null ? `Top up ${formatAmount(amount)}` : 'Top up'}
        </Submit>
      </div>
    </Form>
  )
}

const POLL_MS = 2_000

/** An invoice is issued in the background, shortly after its payment. */
const refreshInvoicesLater = (client: QueryClient): void => {
  window.setTimeout(() => void client.invalidateQueries({ queryKey: invoicesQuery.queryKey }), POLL_MS)
}

/** The state of the checkout that the customer returns from. The payment provider reports it to the gateway. */
export function CheckoutReturn({ id, outcome }: { id: string; outcome: string | undefined }) {
  const query = useQuery({
    ...topUpQuery(id),
    refetchInterval: ({ state }) => (isOpen(state.data) && outcome !== 'cancelled' ? POLL_MS : false),
  })
  const client = useQueryClient()
  const state = query.data?.state
  useEffect(() => {
    if (state === undefined || state === 'pending') return
    for (const { queryKey } of [billingQuery, ledgerQuery, sessionQuery, invoicesQuery])
      void client.invalidateQueries({ queryKey })
    refreshInvoicesLater(client)
  }, [client, state])

  if (!query.data) return <ErrorNote error={query.error} />
  const amount = formatAmount(query.data.amount_usd)
  switch (query.data.state) {
    case 'settled':
      return (
        <Note tone="good" announce>
          <strong>{amount} added to your balance.</strong>{' '}
          <Link to="/billing/receipts/$id" params={{ id }}>
            Receipt
          </Link>
        </Note>
      )
    case 'created':
    case 'pending':
      return outcome === 'cancelled' ? (
        <Note>
          The payment of {amount} was cancelled. You were not charged.{' '}
          {query.data.checkout_url && <a href={query.data.checkout_url}>Continue payment</a>}
        </Note>
      ) : (
        <Note announce>
          <strong>Waiting for the payment of {amount}.</strong> It appears here once it is received, usually
          within a few seconds. You can leave this page.
        </Note>
      )
    case 'failed':
    case 'expired':
      return (
        <Note tone="bad" announce>
          <strong>The payment of {amount} failed.</strong> {query.data.failure_reason ?? ''} Nothing was added
          to your balance. Try again below.
        </Note>
      )
    case 'refunded':
    case 'disputed':
      return (
        <Note tone="warn">
          The payment of {amount} was {query.data.state}.
        </Note>
      )
  }
}

const isOpen = (topUp: TopUpView | undefined): boolean =>
  topUp?.state === 'created' || topUp?.state === 'pending'
