import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { PricingFeedEntry } from '../../src/core/catalog/pricing-feed-view.ts'
import { pricingQuery } from '../api/queries.ts'
import { Note, QueryView } from '../components/feedback/messages.tsx'
import { Panel, SitePage } from '../components/layout/page.tsx'
import { Identifier } from '../components/text/copy.tsx'
import { Snippets } from '../components/text/snippets.tsx'
import { Facts, Stats } from '../components/text/values.tsx'
import { formatCount, formatDate, formatDiscount, rateNumber } from '../lib/format.ts'
import { unitPrice, unitPriceTitle } from '../lib/unit-prices.ts'
import { ImagePrices } from './models/image-prices.tsx'
import { ModelTags } from './models/model-list.tsx'
import { NotFoundPage } from './not-found-page.tsx'

/** One model: its prices, its inputs, and a call to it ready to paste. */
export function ModelPage() {
  const { _splat: id } = useParams({ from: '/site/models/$' })
  return (
    <QueryView query={useQuery(pricingQuery)}>
      {({ data }) => {
        const model = data.find((entry) => entry.id === id)
        return model ? <ModelView model={model} /> : <NotFoundPage />
      }}
    </QueryView>
  )
}

function ModelView({ model }: { model: PricingFeedEntry }) {
  return (
    <SitePage
      back={<Link to="/models">← All models</Link>}
      title={model.name}
      description={
        <span className="row">
          <Identifier id={model.id} of="the model id" />
          <ModelTags model={model} />
        </span>
      }
    >
      {model.status === 'unavailable' && (
        <Note tone="warn">
          No provider is available for this model. It may work with{' '}
          <Link to="/provider-keys">your own provider key</Link>, unless the operator disabled it.
        </Note>
      )}
      <Stats
        rows={{
          'Input, per million tokens': hasTokenPrice(model.prompt, model) && (
            <Rate rate={model.prompt} list={model.list_prompt} />
          ),
          'Audio input, per million tokens': model.prompt_audio !== undefined && (
            <Rate rate={model.prompt_audio} list={model.list_prompt_audio ?? model.list_prompt} />
          ),
          'Image input, per million tokens': model.prompt_image !== undefined && (
            <Rate rate={model.prompt_image} list={model.list_prompt_image ?? model.list_prompt} />
          ),
          'Cached input, per million tokens': model.cache_read !== undefined && (
            <Rate rate={model.cache_read} list={model.list_cache_read ?? model.list_prompt} />
          ),
          'Cache write, per million tokens': model.cache_write !== undefined && (
            <Rate rate={model.cache_write} list={model.list_cache_write ?? model.list_prompt} />
          ),
          'Output, per million tokens': hasTokenPrice(model.completion, model) && (
            <Rate rate={model.completion} list={model.list_completion} />
          ),
          ...unitRow(model),
          'Context window': <Tokens count={model.context_length} />,
          'Max output tokens': <Tokens count={model.max_output_tokens} />,
        }}
      />
      <ImagePrices model={model} />
      <div className="columns">
        <Panel title="About" padded>
          <Facts
            rows={{
              Developer: (
                <Link to="/models" search={{ vendor: model.vendor }}>
                  {model.vendor}
                </Link>
              ),
              'Below list price': formatDiscount(model.discount),
              'Input modalities': model.input_modalities.join(', '),
              'Open weights': model.open_weights ? 'yes' : 'no',
              'Zero data retention': model.zdr ? 'available' : 'not available',
              'Price updated': formatDate(model.updated_at),
            }}
          />
          <p>
            <Link to="/playground" search={{ model: model.id }} className="button">
              Try it in the playground
            </Link>
          </p>
        </Panel>
        <Panel title="Call it" padded>
          <Snippets apiKey="sk-sy-…" model={model.id} />
        </Panel>
      </div>
    </SitePage>
  )
}

/** Models that are priced by something else may charge nothing for tokens. */
const hasTokenPrice = (rate: string, { unit }: PricingFeedEntry) => unit === undefined || rateNumber(rate) > 0

/** The price of what is not counted in tokens. */
function unitRow({ unit, units, list_units: list = units }: PricingFeedEntry) {
  if (unit === undefined || units === undefined || list === undefined) return {}
  return { [unitPriceTitle(unit)]: <Rate rate={unitPrice(unit, units)} list={unitPrice(unit, list)} /> }
}

function Rate({ rate, list }: { rate: string; list: string }) {
  return (
    <>
      ${rate}{' '}
      {list !== rate && (
        <span className="stat-note">
          list price <s>${list}</s>
        </span>
      )}
    </>
  )
}

const Tokens = ({ count }: { count: number }) => (
  <>
    {formatCount(count)} <span className="stat-note">tokens</span>
  </>
)
