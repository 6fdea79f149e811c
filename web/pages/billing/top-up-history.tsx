import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Receipt } from 'lucide-react'
import type { TopUpView } from '../../../src/core/api/billing.ts'
import { topUpsQuery } from '../../api/queries.ts'
import { Panel } from '../../components/layout/page.tsx'
import { DataTable, PageList } from '../../components/table/data-table.tsx'
import { Badge, Money, type Tone } from '../../components/text/values.tsx'
import { formatMoment } from '../../lib/format.ts'
import { railName } from './rail-name.ts'

const TONES: Record<TopUpView['state'], Tone> = {
  created: 'plain',
  pending: 'warn',
  settled: 'good',
  failed: 'bad',
  expired: 'plain',
  refunded: 'plain',
  disputed: 'bad',
}

/** Every top-up, with its receipt once the money was in. */
export function TopUpHistory() {
  const query = useInfiniteQuery(topUpsQuery)
  return (
    <Panel title="Top-ups">
      <PageList
        query={query}
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
              'Paid with': (topUp) => railName(topUp.rail),
              State: (topUp) => <StateOf topUp={topUp} />,
              Receipt: (topUp) => <Next topUp={topUp} />,
            }}
            numeric={['Receipt']}
          />
        )}
      </PageList>
    </Panel>
  )
}

function StateOf({ topUp }: { topUp: TopUpView }) {
  return (
    <span className="row">
      <Badge tone={TONES[topUp.state]}>{topUp.state}</Badge>
      {topUp.test && <Badge>test</Badge>}
      {topUp.refunded_usd !== '0.00' && (
        <span className="small">
          <Money usd={topUp.refunded_usd} /> refunded
        </span>
      )}
      {topUp.failure_reason && <span className="small muted">{topUp.failure_reason}</span>}
    </span>
  )
}

function Next({ topUp }: { topUp: TopUpView }) {
  if (topUp.receipt) {
    return (
      <Link to="/billing/receipts/$id" params={{ id: topUp.id }}>
        Receipt<span className="visually-hidden"> of {formatMoment(topUp.created_at)}</span>
      </Link>
    )
  }
  return topUp.checkout_url ? <a href={topUp.checkout_url}>Pay now</a> : '–'
}
