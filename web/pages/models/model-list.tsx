import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { PricingFeedEntry } from '../../../src/core/catalog/pricing-feed-view.ts'
import { Button } from '../../components/form/button.tsx'
import { Badge } from '../../components/text/values.tsx'
import { formatTokens } from '../../lib/format.ts'
import { unitPrice, unitPriceTitle } from '../../lib/unit-prices.ts'

const PAGE = 50

/** Models by the page; on a phone each is a card. */
export function ModelList({ models }: { models: PricingFeedEntry[] }) {
  const [shown, setShown] = useState(PAGE)
  const left = models.length - shown
  return (
    <div>
      <ul className="panel overflow-hidden">
        {models.slice(0, shown).map((model) => (
          <ModelRow key={model.id} model={model} />
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

function ModelRow({ model }: { model: PricingFeedEntry }) {
  return (
    <li className="model-row">
      <div className="stack-tight max-sm:col-span-full">
        <Link to="/models/$" params={{ _splat: model.id }} className="wrap-anywhere">
          {model.name}
        </Link>
        <code className="text-xs wrap-anywhere text-muted">{model.id}</code>
        <ModelTags model={model} />
      </div>
      <Price label="Input" rate={model.prompt} list={model.list_prompt} />
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
        <span className="text-xs text-muted">Context</span>
        <span>{formatTokens(model.context_length)}</span>
      </div>
    </li>
  )
}

function Price({ label, rate, list }: { label: string; rate: string; list: string }) {
  return (
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
}

/** What sets a model apart, in a word each. Text is what all of them take, so it is not said. */
export function ModelTags({ model }: { model: PricingFeedEntry }) {
  const others = model.input_modalities.filter((modality) => modality !== 'text')
  const isPlain = others.length === 0 && !model.zdr && !model.open_weights && model.kind === undefined
  if (isPlain && model.status === 'available') return null
  return (
    <span className="row gap-1">
      {model.status === 'unavailable' && <Badge tone="warn">unavailable</Badge>}
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
