import { SlidersHorizontal } from 'lucide-react'
import { useState } from 'react'
import type { PricingFeedEntry } from '../../../src/core/catalog/pricing-feed-view.ts'
import { CheckField, SelectField } from '../../components/form/choice-fields.tsx'
import { distinct, type ModelFilters } from '../../lib/model-filters.ts'

const ANY = { value: '', name: 'Any' }

const PRICES = [ANY, ...[0.5, 1, 2, 5, 10, 25].map((usd) => ({ value: String(usd), name: `Up to $${usd}` }))]

const CONTEXTS = [
  ANY,
  { value: '32000', name: '32K or more' },
  { value: '128000', name: '128K or more' },
  { value: '200000', name: '200K or more' },
  { value: '1000000', name: '1M or more' },
]

/** The filters of the catalog. Collapsed on narrow screens. */
export function ModelFilterForm(props: {
  models: PricingFeedEntry[]
  filters: ModelFilters
  onChange: (changed: ModelFilters) => void
}) {
  const { models, filters, onChange } = props
  const [isOpen, setIsOpen] = useState(false)
  const set = Object.entries(filters).filter(([name]) => name !== 'q' && name !== 'sort').length
  const number = (text: string) => (text === '' ? undefined : Number(text))
  const flag = (checked: boolean) => checked || undefined
  return (
    <search className="models-filters stack" data-open={isOpen} aria-label="Filters">
      <button
        type="button"
        className="button filter-toggle"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        <SlidersHorizontal size={16} aria-hidden="true" />
        Filters{set > 0 && ` (${set})`}
      </button>
      <div className="filter-body stack">
        <SelectField
          label="Maker"
          value={filters.vendor ?? ''}
          options={[ANY, ...distinct(models.map(({ vendor }) => vendor)).map(asOption)]}
          onChange={(vendor) => onChange({ vendor: vendor || undefined })}
        />
        <SelectField
          label="Output price per million"
          value={String(filters.max_price ?? '')}
          options={withCurrent(PRICES, filters.max_price, (price) => `Up to $${price}`)}
          onChange={(price) => onChange({ max_price: number(price) })}
        />
        <SelectField
          label="Context window"
          value={String(filters.min_context ?? '')}
          options={withCurrent(CONTEXTS, filters.min_context, (tokens) => `${tokens} or more`)}
          onChange={(tokens) => onChange({ min_context: number(tokens) })}
        />
        <SelectField
          label="Takes as input"
          value={filters.input ?? ''}
          options={[ANY, ...distinct(models.flatMap((model) => model.input_modalities)).map(asOption)]}
          onChange={(input) => onChange({ input: input || undefined })}
        />
        <div>
          <CheckField
            label="Zero data retention"
            checked={filters.zdr ?? false}
            onChange={(checked) => onChange({ zdr: flag(checked) })}
          />
          <CheckField
            label="Open weights"
            checked={filters.open_weights ?? false}
            onChange={(checked) => onChange({ open_weights: flag(checked) })}
          />
          <CheckField
            label="Also unavailable ones"
            checked={filters.all ?? false}
            onChange={(checked) => onChange({ all: flag(checked) })}
          />
        </div>
        {set > 0 && (
          <button
            type="button"
            className="button button-small"
            onClick={() =>
              onChange({
                vendor: undefined,
                max_price: undefined,
                min_context: undefined,
                input: undefined,
                zdr: undefined,
                open_weights: undefined,
                all: undefined,
              })
            }
          >
            Clear the filters
          </button>
        )}
      </div>
    </search>
  )
}

const asOption = (value: string) => ({ value, name: value })

/** A menu that also has the value of a shared address, where it is none of the usual ones. */
function withCurrent(options: typeof PRICES, current: number | undefined, name: (value: number) => string) {
  if (current === undefined || options.some(({ value }) => value === String(current))) return options
  return [...options, { value: String(current), name: name(current) }]
}
