import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { SearchX } from 'lucide-react'
import { Suspense, useDeferredValue, useMemo } from 'react'
import { lazyPart } from '../api/lazy-part.ts'
import { modelsQuery } from '../api/queries.ts'
import { EmptyState, QueryView, SkeletonLines } from '../components/feedback/messages.tsx'
import { ChoiceField, SelectField } from '../components/form/fields.tsx'
import { SearchField } from '../components/form/search-field.tsx'
import { SitePage } from '../components/layout/page.tsx'
import { BASE_PATH } from '../lib/base-path.ts'
import { plural } from '../lib/format.ts'
import { filterModels } from '../lib/models/filter-models.ts'
import type { CatalogModel } from '../lib/models/model-catalog.ts'
import { comparedIds, type ModelFilters } from '../lib/models/model-filters.ts'
import { CompareBar } from './models/compare-bar.tsx'
import { ModelFilterForm } from './models/model-filter-form.tsx'
import { ModelList } from './models/model-list.tsx'

const ORDERS = [
  { value: 'popular', name: 'Popular' },
  { value: 'newest', name: 'Newest' },
  { value: 'price', name: 'Price: low to high' },
  { value: 'dearest', name: 'Price: high to low' },
  { value: 'quality', name: 'Quality' },
  { value: 'speed', name: 'Throughput' },
  { value: 'context', name: 'Context window' },
  { value: 'name', name: 'Name' },
]
const VIEWS = [
  { value: '', name: 'List' },
  { value: 'chart', name: 'Price and quality' },
]
const BEST_MATCH = { value: '', name: 'Best match' }

const PriceQuality = lazyPart(async () => (await import('./models/price-quality.tsx')).PriceQuality)

/** The catalog with its prices: searched, filtered and sorted as the address says. */
export function ModelsPage() {
  const filters = useSearch({ from: '/open/models/' })
  const navigate = useNavigate({ from: '/models/' })
  const change = (changed: ModelFilters) =>
    void navigate({
      search: (before) => ({ ...before, ...changed }),
      replace: true,
      resetScroll: false,
    })
  return (
    <SitePage
      title="Models and prices"
      description={
        <>
          USD per million tokens, as charged. The developer's list price is struck through. JSON:{' '}
          <a href={`${BASE_PATH}/pricing.json`}>pricing.json</a>.
        </>
      }
    >
      <QueryView query={useQuery(modelsQuery)}>
        {({ models }) => (
          <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-[15rem_minmax(0,1fr)] lg:grid-rows-[auto_1fr] lg:gap-x-8">
            <div className="toolbar max-sm:[&_.field]:basis-full lg:col-start-2">
              <SearchField
                label="Search models"
                placeholder="Name, developer or ID"
                value={filters.q}
                onSearch={(q) => change({ q })}
              />
              <SelectField
                label="Sort by"
                value={filters.sort ?? (filters.q ? '' : 'popular')}
                options={filters.q ? [BEST_MATCH, ...ORDERS] : ORDERS}
                onChange={(sort) => change({ sort: (sort || undefined) as ModelFilters['sort'] })}
              />
              <ChoiceField
                label="View"
                value={filters.view ?? ''}
                options={VIEWS}
                onChange={(view) => change({ view: view === 'chart' ? view : undefined })}
              />
            </div>
            <div className="lg:sticky lg:top-20 lg:col-start-1 lg:row-span-2 lg:row-start-1">
              <ModelFilterForm models={models} filters={filters} onChange={change} />
            </div>
            <div className="stack lg:col-start-2">
              <Found models={models} filters={filters} onChange={change} />
            </div>
          </div>
        )}
      </QueryView>
    </SitePage>
  )
}

function Found(props: {
  models: CatalogModel[]
  filters: ModelFilters
  onChange: (changed: ModelFilters) => void
}) {
  const { models, filters, onChange } = props
  const { compare, view, ...shown } = filters
  // Typing stays quick while hundreds of rows are drawn.
  const deferred = useDeferredValue(JSON.stringify(shown))
  const found = useMemo(() => filterModels(models, JSON.parse(deferred) as ModelFilters), [models, deferred])
  const compared = comparedIds(compare)
  const choose = (ids: string[]) => onChange({ compare: ids.join(',') || undefined })
  return (
    <>
      <p className="text-sm text-muted" role="status">
        {plural(found.length, 'model')}
      </p>
      {found.length === 0 ? (
        <div className="panel">
          <EmptyState icon={SearchX}>
            No models match. Remove a filter, shorten the search or select “Include unavailable models”.
          </EmptyState>
        </div>
      ) : (
        <>
          {view === 'chart' && (
            <Suspense fallback={<SkeletonLines />}>
              <PriceQuality models={found} all={models} />
            </Suspense>
          )}
          {/* Another search begins at its top again. */}
          <ModelList
            key={deferred}
            models={found}
            compared={compared}
            onCompare={choose}
            order={shown.sort}
            onOrder={(sort) => onChange({ sort })}
          />
        </>
      )}
      <CompareBar ids={compared} models={models} onChange={choose} />
    </>
  )
}
