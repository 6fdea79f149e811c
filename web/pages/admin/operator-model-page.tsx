import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { PlugZap } from 'lucide-react'
import { useState } from 'react'
import type { CatalogEditsView } from '../../../src/core/api/catalog.ts'
import type { OfferView } from '../../../src/core/api/offers.ts'
import { catalogQuery, offersQuery } from '../../api/operator-queries.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { PageHead } from '../../components/page-head.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { modelChange, offerChange, withModelChange, withOfferChange } from '../../lib/catalog-edits.ts'
import { findOffers } from '../../lib/providers.ts'
import { ApplyEditsDialog, type ProposedEdits } from './catalog/apply-edits-dialog.tsx'
import { RateForm } from './models/rate-form.tsx'
import { RateHistory } from './models/rate-history.tsx'
import { OfferTable } from './providers/offer-table.tsx'

/** One model: its offers, its rate now and before, and the simple edits of both. */
export function OperatorModelPage() {
  const { _splat: id = '' } = useParams({ from: '/operator/admin/models/$' })
  const offers = useQuery(offersQuery({ model: id }))
  const catalog = useQuery(catalogQuery)
  return (
    <>
      <nav className="breadcrumb" aria-label="Breadcrumb">
        <Link to="/admin/models">← Models and margin</Link>
      </nav>
      <PageHead
        title={id}
        description="What calls to it cost and bring in, offer by offer."
        actions={
          <Link to="/admin/calls" search={{ model: id }} className="button">
            See its calls
          </Link>
        }
      />
      <QueryView query={catalog}>
        {({ edits }) => (
          <QueryView query={offers}>
            {({ data }) => <ModelView key={edits?.version ?? 'none'} id={id} offers={data} edits={edits} />}
          </QueryView>
        )}
      </QueryView>
      <Panel title="Rates it had">
        <RateHistory modelId={id} />
      </Panel>
    </>
  )
}

function ModelView(props: { id: string; offers: readonly OfferView[]; edits: CatalogEditsView | null }) {
  const { id, offers, edits } = props
  const [proposed, setProposed] = useState<ProposedEdits | null>(null)
  const content = edits?.content ?? {}
  const isDisabled = modelChange(content, id)?.disabled === true
  const switchModel = () =>
    setProposed({
      content: withModelChange(content, id, { disabled: isDisabled ? undefined : true }),
      title: isDisabled ? 'Enable this model again?' : 'Disable this model?',
      what: isDisabled ? (
        <p>
          Calls to <strong>{id}</strong> are served again within a second.
        </p>
      ) : (
        <p>
          Within a second nobody is served <strong>{id}</strong> any more, also not with a key of their own.
          Calls that run go on to their end.
        </p>
      ),
    })
  const switchOffer = (offer: OfferView) => {
    const isOff = offerChange(content, offer)?.disabled === true
    setProposed({
      content: withOfferChange(content, offer, { disabled: isOff ? undefined : true }),
      title: isOff ? 'Enable this offer again?' : 'Disable this offer?',
      what: (
        <p>
          <code>{`${offer.provider}/${offer.upstream_model}`}</code>{' '}
          {isOff ? 'gets calls again' : 'gets no new calls any more, of nobody'} within a second. This goes
          for every model that has this offer.
        </p>
      ),
    })
  }
  return (
    <>
      <Panel
        title="Offers"
        actions={
          (isDisabled || offers.length > 0) && (
            <button type="button" className="button button-small" onClick={switchModel}>
              {isDisabled ? 'Enable the model' : 'Disable the model'}
            </button>
          )
        }
      >
        {offers.length === 0 ? (
          <EmptyState icon={PlugZap}>
            {isDisabled
              ? 'The model is disabled by the edits that hold.'
              : 'The catalog has no offer of such a model. Check the id, or add it under Catalog edits.'}
          </EmptyState>
        ) : (
          <OfferTable
            offers={findOffers(offers, '')}
            titledBy="provider"
            actions={(offer) => (
              <button type="button" className="button button-small" onClick={() => switchOffer(offer)}>
                {offerChange(content, offer)?.disabled === true ? 'Enable' : 'Disable'}
                <span className="visually-hidden"> {offer.id}</span>
              </button>
            )}
          />
        )}
      </Panel>
      {offers[0] && (
        <Panel title="Rate">
          <div className="panel-body">
            <RateForm
              // Begins anew with a new rate, which comes a moment after the edits that made it.
              key={`${offers[0].rate.prompt} ${offers[0].rate.completion}`}
              id={id}
              offers={offers}
              content={content}
              onPropose={setProposed}
            />
          </div>
        </Panel>
      )}
      <ApplyEditsDialog proposed={proposed} from={edits} onClose={() => setProposed(null)} />
    </>
  )
}
