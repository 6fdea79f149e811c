import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from '../../components/form/button.tsx'
import { DataTable, InCard } from '../../components/table/data-table.tsx'
import { Code } from '../../components/text/code.tsx'
import { Badge } from '../../components/text/values.tsx'
import { formatCount, formatDate, formatTokens, rateNumber } from '../../lib/format.ts'
import { type CatalogModel, hasWindow } from '../../lib/models/model-catalog.ts'
import { COMPARED_MAX, type ModelOrder } from '../../lib/models/model-filters.ts'
import { unitPer, unitPrice } from '../../lib/models/unit-prices.ts'
import { Quality } from './model-figures.tsx'

/** Few at first, since every search draws them again. */
const FIRST = 20
const PAGE = 50

/** The order that the head of a column chooses. */
const COLUMNS = {
  Model: 'name',
  Output: 'price',
  Context: 'context',
  'Tokens/s': 'speed',
  Quality: 'quality',
} satisfies Record<string, ModelOrder>

/** Models by the page; a row leads to the model, its checkbox chooses it for a comparison. */
export function ModelList(props: {
  models: CatalogModel[]
  /** Ids of the models chosen for a comparison. */
  compared: string[]
  onCompare: (ids: string[]) => void
  order: ModelOrder | undefined
  onOrder: (order: ModelOrder) => void
}) {
  const { models, compared, onCompare, order, onOrder } = props
  const [shown, setShown] = useState(FIRST)
  const left = models.length - shown
  // A tag that most models have does not help to choose.
  const showsZdr = models.filter(({ zdr }) => zdr).length * 2 < models.length
  return (
    <div>
      {/* The page has a choice of its own above the list. */}
      <div className="panel overflow-hidden [&_.table-sort-choice]:hidden">
        <DataTable
          caption="Models"
          rows={models.slice(0, shown)}
          selection={{
            isChosen: ({ id }) => compared.includes(id),
            mayChoose: ({ id }) => compared.length < COMPARED_MAX || compared.includes(id),
            choose: ([model], chosen) => {
              const others = compared.filter((id) => id !== model?.id)
              onCompare(chosen && model ? [...others, model.id] : others)
            },
            nameOf: ({ name }) => `Compare ${name}`,
            hasAll: false,
          }}
          sort={{
            columns: COLUMNS,
            by: (order === 'dearest' ? 'price' : order) ?? '',
            isAscending: order === 'price' || order === 'name',
            onSort: (by, isAscending) =>
              onOrder(by === 'price' && !isAscending ? 'dearest' : (by as ModelOrder)),
          }}
          columns={{
            Model: (model) => <Name model={showsZdr ? model : { ...model, zdr: false }} />,
            Input: (model) =>
              (model.unit === undefined || rateNumber(model.prompt) > 0) && (
                <Price rate={model.prompt} list={model.list_prompt} name="in" />
              ),
            Output: (model) => <OutputPrice model={model} />,
            Context: (model) =>
              hasWindow(model) && (
                <span>
                  {formatTokens(model.context_length)}
                  <InCard> context</InCard>
                </span>
              ),
            'Tokens/s': ({ tokens_per_second: rate }) =>
              rate === null ? '–' : formatCount(Math.round(rate)),
            Quality: ({ quality }) => <Quality quality={quality} />,
          }}
          numeric={['Input', 'Output', 'Context', 'Tokens/s', 'Quality']}
          lead={null}
          brief={['Input', 'Output', 'Context']}
        />
      </div>
      {left > 0 && (
        <div className="flex justify-center pt-4">
          <Button onClick={() => setShown(shown + PAGE)}>Show {Math.min(PAGE, left)} more</Button>
        </div>
      )}
    </div>
  )
}

const Name = ({ model }: { model: CatalogModel }) => (
  <span className="stack-tight">
    <span className="row gap-x-2 gap-y-0.5">
      <Link to="/models/$" params={{ _splat: model.id }}>
        {model.name}
      </Link>
      <ModelTags model={model} />
    </span>
    <span className="text-xs text-muted">
      {model.maker} · <Code>{model.id}</Code>
    </span>
  </span>
)

/** The price of output, or what is charged instead. */
function OutputPrice({ model }: { model: CatalogModel }) {
  const { unit, units, list_units: list = units } = model
  if (unit === undefined || units === undefined || list === undefined)
    return <Price rate={model.completion} list={model.list_completion} name="out" />
  return (
    <Price rate={unitPrice(unit, units)} list={unitPrice(unit, list)} name={`/ ${unitPer(unit)}`} isOther />
  )
}

/**
 * A price, and in small the list price that it is below. `name`: what it is of, in place of the header; `isOther`: not of
 * a million tokens, as the header says, so that it is always there.
 */
const Price = (props: { rate: string; list: string; name: string; isOther?: boolean }) => {
  const { rate, list, name, isOther = false } = props
  return (
    <span className="stack-tight">
      <span>
        ${rate}
        <InCard>{` ${name}`}</InCard>
      </span>
      <span className="text-xs text-muted">
        {list !== rate && (
          <s>
            <span className="sr-only">list price </span>${list}
          </s>
        )}
        {isOther && ` ${name}`}
      </span>
    </span>
  )
}

/** Tags of a model: status, kind, privacy and input modalities. Text input is omitted, since every model has it. */
export function ModelTags({ model }: { model: CatalogModel }) {
  const others = model.input_modalities.filter((modality) => modality !== 'text')
  const { kind, zdr, open_weights: isOpen, deprecated_at: deprecatedAt } = model
  if (others.length === 0 && !zdr && !isOpen && !kind && !deprecatedAt && model.status === 'available')
    return null
  return (
    <span className="row gap-1">
      {model.status === 'unavailable' && <Badge tone="warn">unavailable</Badge>}
      {deprecatedAt && <Badge tone="warn">Deprecated · shuts down {formatDate(deprecatedAt)}</Badge>}
      {model.kind && <Badge>{model.kind}</Badge>}
      {model.zdr && (
        <Badge>
          <abbr title="zero data retention">ZDR</abbr>
        </Badge>
      )}
      {model.open_weights && <Badge>open weights</Badge>}
      {others.map((modality) => (
        <Badge key={modality}>{modality}</Badge>
      ))}
    </span>
  )
}
