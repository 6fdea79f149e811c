import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { PlugZap } from 'lucide-react'
import { useState } from 'react'
import type { CatalogEditsView } from '../../../src/core/api/catalog.ts'
import type { OfferView, PriceView } from '../../../src/core/api/offers.ts'
import { catalogQuery, offersQuery, rateHistoryQuery } from '../../api/operator-queries.ts'
import { EmptyState, QueryView } from '../../components/feedback/messages.tsx'
import { type FieldSpec, Form, useForm } from '../../components/form/form.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { Moment } from '../../components/text/values.tsx'
import { findOffers } from '../../lib/live-stats.ts'
import { unitName } from '../../lib/models/unit-prices.ts'
import {
  type CatalogContent,
  modelChange,
  offerChange,
  rateProblem,
  withModelChange,
  withOfferChange,
} from '../../lib/operators/catalog-edits.ts'
import { ApplyEditsDialog, type ProposedEdits } from './catalog/apply-edits-dialog.tsx'
import { OperatorButton } from './operator-button.tsx'
import { OfferTable } from './providers/provider-tables.tsx'

/** One model: its offers, its current and former rates, and simple edits of both. */
export function OperatorModelPage() {
  const { _splat: id = '' } = useParams({ from: '/operator/admin/models/$' })
  const offers = useQuery(offersQuery({ model: id }))
  const catalog = useQuery(catalogQuery)
  return (
    <>
      <PageHead
        back={<Link to="/admin/models">← Models & margin</Link>}
        title={id}
        description="Offers with their cost and margin, and prices."
        actions={
          <Link to="/admin/calls" search={{ model: id }} className="button">
            View calls
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
      <Panel title="Price history">
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
      title: isDisabled ? 'Enable this model?' : 'Disable this model?',
      confirm: isDisabled ? 'Enable model' : 'Disable model',
      done: isDisabled ? 'Model enabled.' : 'Model disabled.',
      what: isDisabled ? (
        <p>
          Calls to <strong>{id}</strong> are accepted again within a second.
        </p>
      ) : (
        <p>
          This takes <strong>{id}</strong> offline for everyone within a second, also for customers’ own
          provider keys. Running calls complete.
        </p>
      ),
    })
  const switchOffer = (offer: OfferView) => {
    const isOff = offerChange(content, offer)?.disabled === true
    setProposed({
      content: withOfferChange(content, offer, { disabled: isOff ? undefined : true }),
      title: isOff ? 'Enable this offer?' : 'Disable this offer?',
      confirm: isOff ? 'Enable offer' : 'Disable offer',
      done: isOff ? 'Offer enabled.' : 'Offer disabled.',
      what: (
        <p>
          <code>{`${offer.provider}/${offer.upstream_model}`}</code> receives{' '}
          {isOff ? 'calls again' : 'no new calls'} within a second. This applies to every model that has this
          offer.
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
            <OperatorButton needs="catalog.write" size="small" onClick={switchModel}>
              {isDisabled ? 'Enable model' : 'Disable model'}
            </OperatorButton>
          )
        }
      >
        {offers.length === 0 ? (
          <EmptyState icon={PlugZap}>
            {isDisabled
              ? 'This model is disabled by the current overrides.'
              : 'The catalog has no offer of this model. Check the ID, or add it with npm run catalog -- apply.'}
          </EmptyState>
        ) : (
          <OfferTable
            offers={findOffers(offers, '')}
            titledBy="provider"
            actions={(offer) => (
              <OperatorButton
                needs="catalog.write"
                size="small"
                about={offer.id}
                onClick={() => switchOffer(offer)}
              >
                {offerChange(content, offer)?.disabled === true ? 'Enable' : 'Disable'}
              </OperatorButton>
            )}
          />
        )}
      </Panel>
      {offers[0] && (
        <Panel title="Price" padded>
          <RateForm
            // A new form for a new rate, which arrives a moment after the edits that changed it.
            key={Object.values(offers[0].rate).join(' ')}
            id={id}
            offers={offers}
            content={content}
            onPropose={setProposed}
          />
        </Panel>
      )}
      {proposed && <ApplyEditsDialog proposed={proposed} from={edits} onClose={() => setProposed(null)} />}
    </>
  )
}

/** The rates of a model over time, each with the version that calls refer to. */
const RateHistory = ({ modelId }: { modelId: string }) => (
  <QueryView query={useQuery(rateHistoryQuery(modelId))}>
    {({ data }) => (
      <DataTable
        empty="No prices yet. A new price appears within a minute."
        caption="Prices in USD per million tokens, newest first"
        rows={data}
        rowKey={(row) => `${row.rate_version} ${row.effective_at}`}
        columns={{
          Since: (row) => <Moment at={row.effective_at} />,
          'Input / output': (row) => `${row.prompt} / ${row.completion}`,
          'List price': (row) => `${row.list_prompt} / ${row.list_completion}`,
          'Audio / image input': (row) =>
            row.prompt_audio === null && row.prompt_image === null
              ? 'as input'
              : `${row.prompt_audio ?? row.prompt} / ${row.prompt_image ?? row.prompt}`,
          'Cache read / write': (row) =>
            row.cache_read === null && row.cache_write === null
              ? 'as input'
              : `${row.cache_read ?? row.prompt} / ${row.cache_write ?? row.prompt}`,
          'Rate / list of a million units':
            data.some(({ units }) => units !== null) &&
            ((row) => (row.units === null ? '–' : `${row.units} / ${row.list_units ?? row.units}`)),
          Version: (row) => <code>{row.rate_version}</code>,
          Catalog: ({ source }) => <code>{source}</code>,
        }}
        numeric={[
          'Input / output',
          'List price',
          'Audio / image input',
          'Cache read / write',
          'Rate / list of a million units',
        ]}
      />
    )}
  </QueryView>
)

/** The rate that clients pay for a model: set by hand, or derived from its list price. */
function RateForm(props: {
  id: string
  offers: readonly OfferView[]
  content: CatalogContent
  onPropose: (edits: ProposedEdits) => void
}) {
  const { id, offers, content, onPropose } = props
  const rate: PriceView = offers[0]?.rate ?? { prompt: '', completion: '' }
  const unit = offers[0]?.unit ?? null
  const isSetByHand = modelChange(content, id)?.rate !== undefined
  const form = useForm({
    fields: {
      prompt: rateField('Input (USD per million tokens)', rate.prompt),
      completion: rateField('Output (USD per million tokens)', rate.completion),
      ...(unit !== null && {
        units: rateField(`USD per million ${unitName(unit)}`, rate.units ?? ''),
      }),
    } as Record<'prompt' | 'completion' | 'units', FieldSpec>,
    send: async (set) => {
      onPropose({
        content: withModelChange(content, id, { rate: set }),
        title: 'Change the price?',
        confirm: 'Change price',
        done: 'Price changed.',
        what: (
          <p>
            New calls to <strong>{id}</strong> cost {rateText({ ...rate, ...set }, unit)}, instead of{' '}
            {rateText(rate, unit)}. Calls received before keep their price.
          </p>
        ),
      })
    },
  })
  const undo = () =>
    onPropose({
      content: withModelChange(content, id, { rate: undefined }),
      title: 'Reset to list price?',
      confirm: 'Reset price',
      done: 'Price reset.',
      what: (
        <p>
          New calls to <strong>{id}</strong> cost the developer’s list price minus the discount.
        </p>
      ),
    })
  return (
    <Form form={form}>
      <p className="text-muted">
        What customers pay, in USD per million tokens. Currently {rateText(rate, unit)},{' '}
        {isSetByHand ? 'set manually' : 'the list price minus the discount'}.
      </p>
      <div className="columns gap-4 [--column:12rem]">
        {form.input('prompt')}
        {form.input('completion')}
        {unit !== null && form.input('units')}
      </div>
      <div className="row">
        <OperatorButton needs="catalog.write" kind="primary">
          Change price …
        </OperatorButton>
        {isSetByHand && (
          <OperatorButton needs="catalog.write" onClick={undo}>
            Reset to list price …
          </OperatorButton>
        )}
      </div>
    </Form>
  )
}

const rateField = (label: string, initial: string): FieldSpec => ({
  label,
  initial,
  inputMode: 'decimal',
  required: true,
  check: rateProblem,
})

const rateText = ({ prompt, completion, units }: PriceView, unit: string | null): string =>
  `$${prompt} input and $${completion} output${unit === null ? '' : `, and $${units} per million ${unitName(unit)}`}`
