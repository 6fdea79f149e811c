import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { Button } from '../../components/form/button.tsx'
import { Badge } from '../../components/text/values.tsx'
import { formatDate, formatTokens, rateNumber } from '../../lib/format.ts'
import { type CatalogModel, hasWindow } from '../../lib/models/model-catalog.ts'
import { COMPARED_MAX } from '../../lib/models/model-filters.ts'
import { unitPrice, unitPriceTitle } from '../../lib/models/unit-prices.ts'

const PAGE = 50

/** Models by the page; on a phone each is a card. */
export function ModelList(props: {
  models: CatalogModel[]
  /** Ids of the models chosen for a comparison. */
  compared: string[]
  onCompare: (ids: string[]) => void
}) {
  const { models, compared, onCompare } = props
  const [shown, setShown] = useState(PAGE)
  const left = models.length - shown
  // A tag that most models have does not help to choose.
  const showsZdr = models.filter(({ zdr }) => zdr).length * 2 < models.length
  return (
    <div>
      <ul className="panel overflow-hidden">
        {models.slice(0, shown).map((model) => (
          <ModelRow key={model.id} model={showsZdr ? model : { ...model, zdr: false }}>
            <label className="relative z-1 inline-flex items-center gap-2 py-0.5 text-sm text-muted">
              <input
                type="checkbox"
                className="size-4 accent-accent-fill"
                checked={compared.includes(model.id)}
                disabled={compared.length >= COMPARED_MAX && !compared.includes(model.id)}
                onChange={({ target: { checked } }) =>
                  onCompare(checked ? [...compared, model.id] : compared.filter((id) => id !== model.id))
                }
              />
              Compare<span className="sr-only"> {model.name}</span>
            </label>
          </ModelRow>
        ))}
      </ul>
      {left > 0 && (
        <div className="flex justify-center pt-4">
          <Button onClick={() => setShown(shown + PAGE)}>Show {Math.min(PAGE, left)} more</Button>
        </div>
      )}
    </div>
  )
}

const ModelRow = ({ model, children }: { model: CatalogModel; children: ReactNode }) => (
  <li className="model-row">
    <div className="stack-tight max-sm:col-span-full">
      <Link to="/models/$" params={{ _splat: model.id }} className="wrap-anywhere">
        {model.name}
      </Link>
      <span className="text-xs wrap-anywhere text-muted">
        {model.maker} · <code>{model.id}</code>
      </span>
      <ModelTags model={model} />
      {children}
    </div>
    {model.unit !== undefined && rateNumber(model.prompt) === 0 ? (
      <span className="max-sm:hidden" />
    ) : (
      <Price label="Input" rate={model.prompt} list={model.list_prompt} />
    )}
    {model.unit === undefined || model.units === undefined ? (
      <Price label="Output" rate={model.completion} list={model.list_completion} />
    ) : (
      <Price
        label={unitPriceTitle(model.unit)}
        rate={unitPrice(model.unit, model.units)}
        list={unitPrice(model.unit, model.list_units ?? model.units)}
      />
    )}
    <div className="grid tabular-nums max-sm:pt-1 sm:text-right">
      {hasWindow(model) && (
        <>
          <span className="text-xs text-muted">Context</span>
          <span>{formatTokens(model.context_length)}</span>
        </>
      )}
      {model.tokens_per_second !== null && (
        <span className="text-xs text-muted">
          <span className="sr-only">Throughput </span>
          {Math.round(model.tokens_per_second)} tokens/s
        </span>
      )}
    </div>
  </li>
)

const Price = ({ label, rate, list }: { label: string; rate: string; list: string }) => (
  <div className="grid tabular-nums max-sm:pt-1 sm:text-right">
    <span className="text-xs text-muted">{label}</span>
    <span>${rate}</span>
    {list !== rate && (
      <s className="text-xs text-muted">
        <span className="sr-only">list price </span>${list}
      </s>
    )}
  </div>
)

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
      {model.kind && <Badge tone="accent">{model.kind}</Badge>}
      {model.zdr && (
        <Badge tone="good">
          <abbr title="zero data retention">ZDR</abbr>
        </Badge>
      )}
      {model.open_weights && <Badge tone="accent">open weights</Badge>}
      {others.map((modality) => (
        <Badge key={modality}>{modality}</Badge>
      ))}
    </span>
  )
}
