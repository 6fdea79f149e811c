import type { PricingFeedEntry } from '../../../src/core/catalog/pricing-feed-view.ts'
import { Badge } from '../../components/text/values.tsx'

/** What sets a model apart, in a word each. Text is what all of them take, so it is not said. */
export function ModelTags({ model }: { model: PricingFeedEntry }) {
  const others = model.input_modalities.filter((modality) => modality !== 'text')
  const isPlain = others.length === 0 && !model.zdr && !model.open_weights
  if (isPlain && model.status === 'available') return null
  return (
    <span className="model-tags">
      {model.status === 'unavailable' && <Badge tone="warn">unavailable</Badge>}
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
