import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Columns3 } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { modelsQuery } from '../api/queries.ts'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { TextField } from '../components/form/fields.tsx'
import { SitePage } from '../components/layout/page.tsx'
import { DataTable } from '../components/table/data-table.tsx'
import { formatDate, formatDuration } from '../lib/format.ts'
import { type CatalogModel, findModel } from '../lib/models/model-catalog.ts'
import { COMPARED_MAX, comparedIds } from '../lib/models/model-filters.ts'
import { modelPrices, priceNames } from '../lib/models/model-prices.ts'
import { ModelChips } from './models/compare-bar.tsx'
import { OutputLimit, Throughput, TokenCount } from './models/model-figures.tsx'

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
}

function Comparison({ models }: { models: CatalogModel[] }) {
  if (models.length === 0)
    return (
      <div className="panel">
        <EmptyState icon={Columns3}>Add two to four models to compare them.</EmptyState>
      </div>
    )
  const columns = Object.fromEntries(
    models.map((model) => [headerOf(model, models), (row: Row) => row.value(model)]),
  )
  return (
    <div className="panel">
      <DataTable
        caption="Comparison of models"
        rows={rowsOf(models)}
        rowKey={({ name }) => name}
        columns={{ Property: ({ name }: Row) => name, ...columns }}
      />
    </div>
  )
}

/** Custom catalogs may name two models the same. */
const headerOf = ({ id, name }: CatalogModel, models: readonly CatalogModel[]): string =>
  models.filter((other) => other.name === name).length > 1 ? id : name

const yesNo = (is: boolean) => (is ? 'yes' : 'no')

function rowsOf(models: readonly CatalogModel[]): Row[] {
  const prices = priceNames(models).map((name) => ({
    name,
    value: (model: CatalogModel) => {
      const price = modelPrices(model).find((each) => each.name === name)
      return price ? <span className="tabular-nums">${price.rate}</span> : '–'
    },
  }))
  return [
    { name: 'Model', value: (model) => <ModelLink model={model} /> },
    { name: 'Developer', value: ({ maker }) => maker },
    ...prices,
    { name: 'Context window', value: (model) => <TokenCount count={model.context_length} /> },
    { name: 'Max output tokens', value: (model) => <OutputLimit limit={model.max_output_tokens} /> },
    { name: 'Time to first token (median)', value: (model) => formatDuration(model.first_token_ms) },
    { name: 'Throughput (median)', value: (model) => <Throughput perSecond={model.tokens_per_second} /> },
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
  ]
}

const ModelLink = ({ model }: { model: CatalogModel }) => (
  <Link to="/models/$" params={{ _splat: model.id }}>
    <code>{model.id}</code>
  </Link>
)
