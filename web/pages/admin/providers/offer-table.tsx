import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { OfferView, PriceView } from '../../../../src/core/api/offers.ts'
import { Button } from '../../../components/form/button.tsx'
import { DataTable } from '../../../components/table/data-table.tsx'
import { formatDuration } from '../../../lib/format.ts'
import { EnableDialog } from '../enable-dialog.tsx'
import { OfferHealth, RecentSuccess } from './health.tsx'

/** Offers with their health, success, speed and price. */
export function OfferTable(props: {
  offers: readonly OfferView[]
  /** What names the rows; the other of the two is the same in all of them. */
  titledBy: 'model' | 'provider'
  /** Further buttons for an offer. */
  actions?: (offer: OfferView) => ReactNode
}) {
  const { offers, titledBy, actions } = props
  const [enabling, setEnabling] = useState<string | null>(null)
  const isRanked = new Set(offers.map(({ priority }) => priority)).size > 1
  return (
    <>
      <DataTable
        caption="Offers; prices in USD per million tokens"
        rows={offers}
        rowKey={({ id, model }) => `${id} ${model}`}
        columns={{
          [titledBy === 'model' ? 'Model' : 'Provider']: (offer: OfferView) => (
            <span className="stack-tight">
              <Name offer={offer} titledBy={titledBy} />
              <code className="small muted">{offer.upstream_model}</code>
              {isRanked && <span className="small muted">priority {offer.priority}</span>}
            </span>
          ),
          Health: (offer) => <OfferHealth offer={offer} />,
          'Success 1 / 10 min': (offer) => (
            <RecentSuccess minute={offer.last_minute} tenMinutes={offer.last_ten_minutes} />
          ),
          'First token p50': ({ first_token_ms: ms }) => <Spread of={ms} format={formatDuration} />,
          'Tokens/s p50': ({ tokens_per_second: rate }) => (
            <Spread of={rate} format={(value) => String(Math.round(value))} />
          ),
          'Cost and margin': ({ cost, margin }) => (
            <span className="stack-tight">
              <Price price={cost} />
              <span className="small muted nowrap">
                margin <Price price={margin} />
              </span>
            </span>
          ),
          Actions: (offer) => (
            <span className="table-actions">
              {offer.health.breaker !== 'closed' && offer.health.level === 'offer' && (
                <Button size="small" about={offer.id} onClick={() => setEnabling(offer.id)}>
                  Re-enable
                </Button>
              )}
              {actions?.(offer)}
            </span>
          ),
        }}
        numeric={['Success 1 / 10 min', 'First token p50', 'Tokens/s p50', 'Cost and margin', 'Actions']}
      />
      <p className="panel-note small muted">Prices in USD per million tokens of prompt / completion.</p>
      {enabling && <EnableDialog subject={enabling} onClose={() => setEnabling(null)} />}
    </>
  )
}

function Name({ offer, titledBy }: { offer: OfferView; titledBy: 'model' | 'provider' }) {
  return titledBy === 'model' ? (
    <Link to="/admin/models/$" params={{ _splat: offer.model }}>
      {offer.model}
    </Link>
  ) : (
    <Link to="/admin/providers/$id" params={{ id: offer.provider }}>
      {offer.provider}
    </Link>
  )
}

/** A median with the percentiles above it. */
function Spread(props: { of: OfferView['first_token_ms']; format: (value: number) => string }) {
  const { of, format } = props
  if (!of) return '–'
  return (
    <span className="stack-tight nowrap">
      {format(of.p50)}
      <span className="small muted">
        p90 {format(of.p90)}, p99 {format(of.p99)}
      </span>
    </span>
  )
}

function Price({ price: { prompt, completion } }: { price: PriceView }) {
  return (
    <span className="nowrap">
      {prompt} / {completion}
    </span>
  )
}
