import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Columns3 } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { modelsQuery } from '../api/queries.ts'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { TextField } from '../components/form/fields.tsx'
import { SitePage } from '../components/layout/page.tsx'
import { DataTable } from '../components/table/data-table.tsx'
import { CellBar } from '../components/text/budget-bar.tsx'
import { Badge } from '../components/text/values.tsx'
import { formatDate, formatDuration, rateNumber } from '../lib/format.ts'
import { type CatalogModel, findModel } from '../lib/models/model-catalog.ts'
import { costOfThousand, roundedUsd, type Standing, standingsOf } from '../lib/models/model-comparison.ts'
import { COMPARED_MAX, comparedIds } from '../lib/models/model-filters.ts'
import { modelPrices, priceNames } from '../lib/models/model-prices.ts'
import { ModelChips } from './models/compare-bar.tsx'
import { OutputLimit, Quality, Throughput, TokenCount, UseInPreset } from './models/model-figures.tsx'
import { useCallSize } from './models/use-call-size.ts'

/** Up to four models side by side; which ones is in the address. */
export function ComparePage() {
  const search = useSearch({ from: '/open/models/compare' })
  const navigate = useNavigate({ from: '/models/compare' })
  const ids = comparedIds(search.models)
  const show = (shown: string[]) =>
    void navigate({ search: { models: shown.join(',') || undefined }, replace: true, resetScroll: false })
  return (
    <SitePage
      back={<Link to="/models">← All models</Link>}
      title="Compare models"
      description="Prices in USD, as charged. The address of this page keeps the selection."
    >
      <QueryView query={useQuery(modelsQuery)}>
        {({ models }) => (
          <>
            <div className="toolbar">
              {ids.length < COMPARED_MAX && (
                <AddModel models={models} onAdd={(id) => show(comparedIds([...ids, id].join(',')))} />
              )}
              <ModelChips ids={ids} models={models} onChange={show} />
              {ids.length > 0 && <UseInPreset models={ids} />}
            </div>
            <Comparison models={ids.flatMap((id) => findModel(models, id) ?? [])} />
          </>
        )}
      </QueryView>
    </SitePage>
  )
}

/** A field that takes a model's id as soon as it is one. */
function AddModel({ models, onAdd }: { models: CatalogModel[]; onAdd: (id: string) => void }) {
  const [typed, setTyped] = useState('')
  const change = (text: string) => {
    const model = models.find(({ id }) => id === text)
    setTyped(model ? '' : text)
    if (model) onAdd(model.id)
  }
  return (
    <form
      className="field-wide"
      onSubmit={(event) => {
        event.preventDefault()
        const model = findModel(models, typed)
        if (model) onAdd(model.id)
        setTyped('')
      }}
    >
      <TextField
        label="Add a model"
        placeholder="Model id"
        value={typed}
        onChange={change}
        spellCheck={false}
        suggestions={typed === '' ? [] : models.map(({ id, name }) => ({ value: id, name }))}
      />
    </form>
  )
}

interface Row {
  name: string
  value: (model: CatalogModel) => ReactNode
  /** By it the best model of the row is marked, and each has a bar. */
  figure?: (model: CatalogModel) => number | null
  better?: 'lower' | 'higher'
}

function Comparison({ models }: { models: CatalogModel[] }) {
  const calls = useCallSize()
  if (models.length === 0)
    return (
      <div className="panel">
        <EmptyState icon={Columns3}>Add two to four models to compare them.</EmptyState>
      </div>
    )
  const columns = Object.fromEntries(
    models.map((model, at) => [
      headerOf(model, models),
      (row: Row) => (
        <Cell standing={row.figure && standingsOf(models.map(row.figure), row.better ?? 'lower')[at]}>
          {row.value(model)}
        </Cell>
      ),
    ]),
  )
  return (
    <div className="panel">
      <DataTable
        caption="Comparison of models"
        rows={rowsOf(models, calls)}
        rowKey={({ name }) => name}
        columns={{ Property: ({ name }: Row) => name, ...columns }}
      />
    </div>
  )
}

/** A value with its bar; the best of the row says so. */
function Cell({ standing, children }: { standing: Standing | null | undefined; children: ReactNode }) {
  if (!standing) return children
  return (
    <span className="stack-tight gap-1">
      <span className="row gap-x-2 gap-y-0">
        {children}
        {standing.isBest && <Badge tone="good">best</Badge>}
      </span>
      <CellBar share={standing.share} />
    </span>
  )
}

/** Custom catalogs may name two models the same. */
const headerOf = ({ id, name }: CatalogModel, models: readonly CatalogModel[]): string =>
  models.filter((other) => other.name === name).length > 1 ? id : name

/** A value made of one that may be missing. */
const mapped = <From, To>(value: From | null | undefined, to: (value: From) => To): To | null =>
  value == null ? null : to(value)

const Usd = ({ text }: { text: string | null | undefined }) =>
  text == null ? '–' : <span className="tabular-nums">${text}</span>

const yesNo = (is: boolean) => (is ? 'yes' : 'no')

function rowsOf(models: readonly CatalogModel[], { size, thousand }: ReturnType<typeof useCallSize>): Row[] {
  const prices = priceNames(models).map((name): Row => {
    const rateOf = (model: CatalogModel) => modelPrices(model).find((price) => price.name === name)?.rate
    return {
      name,
      value: (model) => <Usd text={rateOf(model)} />,
      figure: (model) => mapped(rateOf(model), rateNumber),
    }
  })
  const costOf = (model: CatalogModel) => costOfThousand(model, size)
  return [
    { name: 'Model', value: (model) => <ModelLink model={model} /> },
    { name: 'Developer', value: ({ maker }) => maker },
    ...prices,
    { name: thousand, value: (model) => <Usd text={mapped(costOf(model), roundedUsd)} />, figure: costOf },
    {
      name: 'Quality (reasoning and data tasks)',
      value: ({ quality }) => <Quality quality={quality} hasSource />,
      figure: ({ quality }) => quality?.value ?? null,
      better: 'higher',
    },
    {
      name: 'Context window',
      value: (model) => <TokenCount count={model.context_length} />,
      figure: (model) => model.context_length,
      better: 'higher',
    },
    { name: 'Max output tokens', value: (model) => <OutputLimit limit={model.max_output_tokens} /> },
    {
      name: 'Time to first token (median)',
      value: (model) => formatDuration(model.first_token_ms),
      figure: (model) => model.first_token_ms,
    },
    {
      name: 'Throughput (median)',
      value: (model) => <Throughput perSecond={model.tokens_per_second} />,
      figure: (model) => model.tokens_per_second,
      better: 'higher',
    },
    { name: 'Input modalities', value: (model) => model.input_modalities.join(', ') },
    { name: 'Tool calling', value: (model) => yesNo(model.supported_parameters.includes('tools')) },
    {
      name: 'Structured output',
      value: (model) => yesNo(model.supported_parameters.includes('response_format')),
    },
    { name: 'Reasoning', value: (model) => yesNo(model.reasoning) },
    { name: 'Open weights', value: (model) => yesNo(model.open_weights) },
    { name: 'Zero data retention', value: (model) => (model.zdr ? 'available' : 'not available') },
    { name: 'Released', value: (model) => (model.released_at ? formatDate(model.released_at) : '–') },
    { name: 'Deprecated', value: ({ deprecated_at: end }) => (end ? `ends ${formatDate(end)}` : 'no') },
    {
      name: 'Playground',
      value: ({ id, kind }) =>
        kind === undefined && (
          <Link to="/playground" search={{ model: id }} className="button button-small">
            Try<span className="sr-only"> {id}</span>
          </Link>
        ),
    },
  ]
}

const ModelLink = ({ model }: { model: CatalogModel }) => (
  <Link to="/models/$" params={{ _splat: model.id }}>
    <code>{model.id}</code>
  </Link>
)
