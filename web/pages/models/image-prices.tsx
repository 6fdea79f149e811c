import type { PricingFeedEntry } from '../../../src/core/catalog/pricing-feed-view.ts'
import { Panel } from '../../components/layout/page.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { formatAmount } from '../../lib/format.ts'
import { imagePrices } from '../../lib/unit-prices.ts'

/** What a model for images makes, and the price of each; nothing for other models. */
export function ImagePrices({
  model: { image_units: units, units: rate, prompt },
}: {
  model: PricingFeedEntry
}) {
  if (units === undefined || rate === undefined) return null
  const prices = imagePrices(units, rate)
  const hasQualities = prices.some(({ quality }) => quality !== '')
  return (
    <Panel title="Price of an image">
      <DataTable
        caption="Images that it makes, the default first"
        rows={prices}
        rowKey={({ quality, size }) => `${quality} ${size}`}
        columns={{
          Quality: hasQualities && (({ quality }) => quality),
          Size: ({ size }) => size,
          'Per image': ({ usd }) => formatAmount(usd),
        }}
        numeric={['Per image']}
      />
      {Number(prompt) > 0 && (
        <p className="px-inset pt-2 pb-4 text-sm text-muted">
          The tokens of the prompt, and of images to be edited, cost extra.
        </p>
      )}
    </Panel>
  )
}
