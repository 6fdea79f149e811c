import { SlidersHorizontal } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/form/button.tsx'
import { CheckField, SelectField, type SelectOption } from '../../components/form/fields.tsx'
import { distinct } from '../../lib/models/filter-models.ts'
import type { CatalogModel } from '../../lib/models/model-catalog.ts'
import type { ModelFilters } from '../../lib/models/model-filters.ts'

const ANY = { value: '', name: 'Any' }

const PRICES = [0.5, 1, 2, 5, 10, 25].map((usd) => ({ value: String(usd), name: `Up to $${usd}` }))

const CONTEXTS = [
  { value: '32000', name: '32K or more' },
  { value: '128000', name: '128K or more' },
  { value: '200000', name: '200K or more' },
  { value: '1000000', name: '1M or more' },
]

const FLAGS = [
  { name: 'tools', label: 'Tool calling' },
  { name: 'structured', label: 'Structured output' },
  { name: 'reasoning', label: 'Reasoning' },
  { name: 'zdr', label: 'Zero data retention' },
  { name: 'open_weights', label: 'Open weights' },
  { name: 'all', label: 'Include unavailable models' },
] as const

const NUMBERS = ['max_price', 'min_context'] as const
type ValueFilter = (typeof NUMBERS)[number] | 'vendor' | 'kind' | 'input'
const isNumber = (name: ValueFilter) => NUMBERS.some((one) => one === name)

/** The filters of the catalog. Collapsed on narrow screens. */
export function ModelFilterForm(props: {
  models: CatalogModel[]
  filters: ModelFilters
  onChange: (changed: ModelFilters) => void
}) {
  const { models, filters, onChange } = props
  const [isOpen, setIsOpen] = useState(false)
  const set = Object.keys(filters).filter((name) => !['q', 'sort', 'view', 'compare'].includes(name))
  const select = (label: string, name: ValueFilter, options: readonly SelectOption[]) => (
    <SelectField
      label={label}
      value={String(filters[name] ?? '')}
      options={[ANY, ...options, ...unlisted(options, filters[name])]}
      onChange={(value) =>
        onChange({ [name]: value === '' ? undefined : isNumber(name) ? Number(value) : value })
      }
    />
  )
  return (
    <search className="stack" data-open={isOpen} aria-label="Filters">
      <button
        type="button"
        className="button lg:hidden"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        <SlidersHorizontal size={16} aria-hidden="true" />
        Filters{set.length > 0 && ` (${set.length})`}
      </button>
      <div className="stack max-lg:[[data-open=false]_&]:hidden">
        {select('Developer', 'vendor', makersOf(models))}
        {select('Output price per million', 'max_price', PRICES)}
        {select('Context window', 'min_context', CONTEXTS)}
        {select('Type', 'kind', distinct(models.map(({ kind = 'chat' }) => kind)).map(asOption))}
        {select(
          'Input modalities',
          'input',
          distinct(models.flatMap((model) => model.input_modalities)).map(asOption),
        )}
        <div>
          {FLAGS.map(({ name, label }) => (
            <CheckField
              key={name}
              label={label}
              checked={filters[name] ?? false}
              onChange={(checked) => onChange({ [name]: checked || undefined })}
            />
          ))}
        </div>
        {set.length > 0 && (
          <Button
            size="small"
            onClick={() => onChange(Object.fromEntries(set.map((name) => [name, undefined])))}
          >
            Clear filters
          </Button>
        )}
      </div>
    </search>
  )
}

const makersOf = (models: readonly CatalogModel[]) =>
  [...new Map(models.map(({ vendor, maker }) => [vendor, maker]))]
    .map(([value, name]) => ({ value, name }))
    .sort((a, b) => a.name.localeCompare(b.name, 'en'))

/** The value of a shared address, where it is none of the usual ones. */
const unlisted = (options: readonly SelectOption[], value: string | number | undefined) =>
  value === undefined || options.some((one) => one.value === String(value)) ? [] : [asOption(String(value))]

const asOption = (value: string) => ({ value, name: value })
