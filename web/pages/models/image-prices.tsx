import type { PricingFeedEntry } from '../../../src/core/catalog/pricing-feed-view.ts'
import { Panel } from '../../components/layout/page.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { rateNumber } from '../../lib/format.ts'
import { imagePrices } from '../../lib/models/unit-prices.ts'

/** What a model for images makes, and the price of each; nothing for other models. */
export function ImagePrices({
  model: { image_units: units, units: rate, prompt },
}: {
  model: Pick<PricingFeedEntry, 'image_units' | 'units' | 'prompt'>
}) {
  if (units === undefined || rate === undefined) return null
  const { qualities, usual, sizes } = imagePrices(units, rate)
  const titleOf = (quality: string) =>
    quality === '' ? 'Per image' : quality.charAt(0).toUpperCase() + quality.slice(1)
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
      />
      <p className="px-inset pt-2 pb-4 text-sm text-muted">
        Default: {[usual.quality, usual.size].filter(Boolean).join(', ')}.
        {rateNumber(prompt) > 0 &&
          ' The tokens of the prompt, and of images to be edited, are charged as well.'}
      </p>
    </Panel>
  )
}
