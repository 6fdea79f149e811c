import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { PricingFeedEntry } from '../../src/core/catalog/pricing-feed-view.ts'
import { pricingQuery } from '../api/queries.ts'
import { Identifier } from '../components/identifier.tsx'
import { Note } from '../components/note.tsx'
import { Panel } from '../components/panel.tsx'
import { QueryView } from '../components/query-view.tsx'
import { Snippets } from '../components/snippets.tsx'
import { usePageTitle } from '../components/use-page-title.ts'
import { formatDate } from '../lib/dates.ts'
import { formatCount, formatDiscount } from '../lib/figures.ts'
import '../styles/models.css'
import { ModelTags } from './models/model-tags.tsx'
import { NotFoundPage } from './not-found-page.tsx'

/** One model: its prices, what it takes, and a call to it ready to paste. */
export function ModelPage() {
  const { _splat: id } = useParams({ from: '/site/models/$' })
  const query = useQuery(pricingQuery)
  return (
    <QueryView query={query}>
      {({ data }) => {
        const model = data.find((entry) => entry.id === id)
        return model ? <ModelView model={model} /> : <NotFoundPage />
      }}
    </QueryView>
  )
}

function ModelView({ model }: { model: PricingFeedEntry }) {
  const heading = usePageTitle(model.name)
  return (
    <div className="site-page model-page">
      <div className="stack-small">
        <nav className="breadcrumb" aria-label="Breadcrumb">
          <Link to="/models">← All models</Link>
        </nav>
        <h1 ref={heading} tabIndex={-1}>
          {model.name}
        </h1>
        <div className="row">
          <Identifier id={model.id} of="the model id" />
          <ModelTags model={model} />
        </div>
      </div>
      {model.status === 'unavailable' && (
        <Note tone="warn">
          No provider here serves this model with the gateway's own key at present. It can be called with{' '}
          <Link to="/provider-keys">a provider key of your own</Link>.
        </Note>
      )}
      <dl className="figures">
        <Rate label="Input, per million tokens" rate={model.prompt} list={model.list_prompt} />
        {model.prompt_audio !== undefined && (
          <Rate
            label="Audio input, per million tokens"
            rate={model.prompt_audio}
            list={model.list_prompt_audio ?? model.list_prompt}
          />
        )}
        {model.prompt_image !== undefined && (
          <Rate
            label="Image input, per million tokens"
            rate={model.prompt_image}
            list={model.list_prompt_image ?? model.list_prompt}
          />
        )}
        <Rate label="Output, per million tokens" rate={model.completion} list={model.list_completion} />
        <div className="figure">
          <dt>Context window</dt>
          <dd>
            {formatCount(model.context_length)} <span className="figure-note">tokens</span>
          </dd>
        </div>
        <div className="figure">
          <dt>Longest answer</dt>
          <dd>
            {formatCount(model.max_output_tokens)} <span className="figure-note">tokens</span>
          </dd>
        </div>
      </dl>
      <div className="grid-2">
        <Panel title="About">
          <div className="panel-body">
            <dl className="facts">
              <dt>Maker</dt>
              <dd>
                <Link to="/models" search={{ vendor: model.vendor }}>
                  {model.vendor}
                </Link>
              </dd>
              <dt>Below list price</dt>
              <dd>{formatDiscount(model.discount)}</dd>
              <dt>Takes as input</dt>
              <dd>{model.input_modalities.join(', ')}</dd>
              <dt>Weights</dt>
              <dd>{model.open_weights ? 'open' : 'closed'}</dd>
              <dt>Zero data retention</dt>
              <dd>{model.zdr ? 'can be required of a call' : 'cannot be met'}</dd>
              <dt>Price since</dt>
              <dd>{formatDate(model.updated_at)}</dd>
            </dl>
            <p>
              <Link to="/playground" search={{ model: model.id }} className="button">
                Try it in the playground
              </Link>
            </p>
          </div>
        </Panel>
        <Panel title="Call it">
          <div className="panel-body">
            <Snippets apiKey="sk-sy-…" model={model.id} />
          </div>
        </Panel>
      </div>
    </div>
  )
}

function Rate({ label, rate, list }: { label: string; rate: string; list: string }) {
  return (
    <div className="figure">
      <dt>{label}</dt>
      <dd>
        ${rate}{' '}
        {list !== rate && (
          <span className="figure-note">
            list price <s>${list}</s>
          </span>
        )}
      </dd>
    </div>
  )
}
