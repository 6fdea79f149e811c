import { useQuery } from '@tanstack/react-query'
import { Link, Navigate, useParams } from '@tanstack/react-router'
import type { ModelDetails } from '../../src/core/api/models.ts'
import type { PricingFeedEntry } from '../../src/core/catalog/pricing-feed-view.ts'
import { modelDetailsQuery, modelsQuery } from '../api/queries.ts'
import { Note, QueryView, SkeletonLines } from '../components/feedback/messages.tsx'
import { Panel, SitePage } from '../components/layout/page.tsx'
import { DataTable } from '../components/table/data-table.tsx'
import { CellBar } from '../components/text/budget-bar.tsx'
import { CodeBlock, Identifier } from '../components/text/copy.tsx'
import { Money } from '../components/text/money.tsx'
import { Snippets } from '../components/text/snippets.tsx'
import { Badge, Facts, Stats } from '../components/text/values.tsx'
import { capitalised, formatCount, formatDate, rateNumber } from '../lib/format.ts'
import { gatewayAddress } from '../lib/gateway-address.ts'
import { modelAbilities } from '../lib/models/model-abilities.ts'
import { type CatalogModel, findModel, hasWindow } from '../lib/models/model-catalog.ts'
import { exampleRequest } from '../lib/models/model-example.ts'
import { modelPrices } from '../lib/models/model-prices.ts'
import { qualitySource, TASKS } from '../lib/models/model-quality.ts'
import { imagePrices, unitCount } from '../lib/models/unit-prices.ts'
import { curlCode } from '../lib/playground/request-code.ts'
import { OutputLimit, Quality, TokenCount, UseInPreset } from './models/model-figures.tsx'
import { ModelPerformance, PriceHistory } from './models/model-history.tsx'
import { ModelTags } from './models/model-list.tsx'
import { ModelProviders } from './models/model-providers.tsx'
import { NotFoundPage } from './not-found-page.tsx'

/** One model: its prices, what it can do, who serves it, and a call to it ready to paste. An alias leads here, too. */
export function ModelPage() {
  const { _splat: id = '' } = useParams({ from: '/open/models/$' })
  const details = useQuery(modelDetailsQuery(id))
  return (
    <QueryView query={useQuery(modelsQuery)}>
      {({ models }) => {
        const model = findModel(models, id)
        if (!model) return <NotFoundPage />
        if (model.id !== id) return <Navigate to="/models/$" params={{ _splat: model.id }} replace />
        // Shown at once rather than moved down by the paragraph.
        if (details.isPending) return <SkeletonLines />
        return <ModelView model={model} details={details.data} />
      }}
    </QueryView>
  )
}

const ModelView = ({ model, details }: { model: CatalogModel; details: ModelDetails | undefined }) => (
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
    {model.deprecated_at && (
      <Note tone="warn">
        Deprecated: {model.maker} shuts this model down on {formatDate(model.deprecated_at)}. Move to another
        model before then.
      </Note>
    )}
    <Stats
      rows={{
        ...Object.fromEntries(modelPrices(model).map(({ name, rate }) => [name, `$${rate}`])),
        'Context window': hasWindow(model) && <TokenCount count={model.context_length} />,
        'Longest text': model.kind === 'speech' && `${formatCount(model.context_length)} characters`,
        'Max output tokens': !model.kind && <OutputLimit limit={model.max_output_tokens} />,
      }}
      notes={Object.fromEntries(
        modelPrices(model).map(({ name, rate, list }) => [name, list !== rate && <ListPrice usd={list} />]),
      )}
    />
    <ImagePrices model={model} />
    <div className="columns">
      <Panel title="About" padded>
        <Facts
          rows={{
            Developer: (
              <Link to="/models" search={{ vendor: model.vendor }}>
                {model.maker}
              </Link>
            ),
            Released: model.released_at && formatDate(model.released_at),
            'Charged at least':
              model.unit !== undefined &&
              model.least_units !== undefined &&
              `${unitCount(model.unit, model.least_units)} a request`,
            'Input modalities': model.input_modalities.join(', '),
            Capabilities: <Capabilities model={model} />,
            Popularity: model.popularity !== null && `#${model.popularity} by requests of the last 7 days`,
          }}
        />
        <p className="row">
          {model.kind === undefined && (
            <Link to="/playground" search={{ model: model.id }} className="button">
              Try it in the playground
            </Link>
          )}
          <Link to="/models/compare" search={{ models: model.id }} className="button">
            Compare
          </Link>
          {model.kind === undefined && <UseInPreset models={[model.id]} />}
        </p>
      </Panel>
      <Panel title="Use this model" padded>
        <ModelSnippets model={model} />
      </Panel>
    </div>
    {details && details.quality.length > 0 && <QualityByTask quality={details.quality} />}
    {details && <ModelPerformance days={details.days} />}
    <ModelProviders model={model} />
    {details?.prices && <PriceHistory model={model} prices={details.prices} />}
  </SitePage>
)

/** How well the model does each kind of task, and who says so. */
const QualityByTask = ({ quality }: Pick<ModelDetails, 'quality'>) => (
  <Panel title="Quality">
    <DataTable
      caption="Quality by kind of task"
      rows={quality}
      rowKey={({ kind }) => kind}
      columns={{
        Task: ({ kind }) => TASKS[kind] ?? kind,
        'Done well': (one) => (
          <span className="stack-tight gap-1">
            <Quality quality={one} />
            <CellBar share={one.value} />
          </span>
        ),
        Source: (one) => <span className="text-sm text-muted">{qualitySource(one)}</span>,
      }}
      lead={null}
      long={['Source']}
    />
    <p className="px-inset pt-2 pb-4 text-sm text-muted">
      The share of published tasks done well, ± one standard error, as <code>auto</code> counts it.{' '}
      <Link to="/docs/$page" params={{ page: 'auto' }}>
        How auto chooses
      </Link>
    </p>
  </Panel>
)

function ModelSnippets({ model }: { model: CatalogModel }) {
  const example = exampleRequest(model, gatewayAddress())
  return example === null ? (
    <Snippets apiKey="sk-sy-…" model={model.id} />
  ) : (
    <CodeBlock code={curlCode(example)} of="a first request with curl" />
  )
}

const ListPrice = ({ usd }: { usd: string }) => (
  <>
    list price <s>${usd}</s>
  </>
)

function Capabilities({ model }: { model: CatalogModel }) {
  const abilities = modelAbilities(model)
  if (abilities.length === 0) return 'none listed'
  return (
    <span className="row gap-1">
      {abilities.map((name) => (
        <Badge key={name}>{name}</Badge>
      ))}
    </span>
  )
}

/** What a model for images makes, and the price of each; nothing for other models. */
function ImagePrices({
  model: { image_units: units, units: rate, prompt },
}: {
  model: Pick<PricingFeedEntry, 'image_units' | 'units' | 'prompt'>
}) {
  if (units === undefined || rate === undefined) return null
  const { qualities, usual, sizes } = imagePrices(units, rate)
  const titleOf = (quality: string) => capitalised(quality) || 'Per image'
  const columns = qualities.map((quality) => [
    titleOf(quality),
    ({ usd: { [quality]: usd } }: (typeof sizes)[number]) => (usd === undefined ? '–' : <Money usd={usd} />),
  ])
  return (
    <Panel title="Price of an image">
      <DataTable
        caption="Price of one image by size and quality"
        rows={sizes}
        rowKey={({ size }) => size}
        columns={{ Size: ({ size }) => size, ...Object.fromEntries(columns) }}
        numeric={qualities.map(titleOf)}
        lead={null}
      />
      <p className="px-inset pt-2 pb-4 text-sm text-muted">
        Default: {[usual.quality, usual.size].filter(Boolean).join(', ')}.
        {rateNumber(prompt) > 0 &&
          ' The tokens of the prompt, and of images to be edited, are charged as well.'}
      </p>
    </Panel>
  )
}
