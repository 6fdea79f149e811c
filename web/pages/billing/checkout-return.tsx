import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { TopUpView } from '../../../src/core/api/billing.ts'
import { topUpQuery } from '../../api/queries.ts'
import { ErrorNote, Note } from '../../components/feedback/messages.tsx'
import { formatAmount } from '../../lib/format.ts'

const POLL_MS = 2_000

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
    for (const key of ['billing', 'ledger', 'session']) void client.invalidateQueries({ queryKey: [key] })
  }, [client, state])

  if (!query.data) return <ErrorNote error={query.error} />
  const amount = formatAmount(query.data.amount_usd)
  switch (query.data.state) {
    case 'settled':
      return (
        <Note tone="good" announce>
          <strong>{amount} are in your balance.</strong>{' '}
          <Link to="/billing/receipts/$id" params={{ id }}>
            Receipt
          </Link>
        </Note>
      )
    case 'created':
    case 'pending':
      return outcome === 'cancelled' ? (
        <Note>
          You left the payment of {amount} before paying; nothing was charged.{' '}
          {query.data.checkout_url && <a href={query.data.checkout_url}>Continue it</a>}
        </Note>
      ) : (
        <Note announce>
          <strong>Waiting for the payment of {amount}.</strong> It appears here once it is received, usually
          within a few seconds. You may leave this page.
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
