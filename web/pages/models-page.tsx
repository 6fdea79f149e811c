import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { SearchX } from 'lucide-react'
import { useDeferredValue, useMemo } from 'react'
import type { PricingFeedEntry } from '../../src/core/catalog/pricing-feed-view.ts'
import { pricingQuery } from '../api/queries.ts'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { SelectField } from '../components/form/fields.tsx'
import { SitePage } from '../components/layout/page.tsx'
import { plural } from '../lib/format.ts'
import { filterModels, type ModelFilters } from '../lib/model-filters.ts'
import { ModelFilterForm, SearchField } from './models/model-filter-form.tsx'
import { ModelList } from './models/model-list.tsx'

const ORDERS = [
  { value: 'name', name: 'Name' },
  { value: 'price', name: 'Price: low to high' },
  { value: 'dearest', name: 'Price: high to low' },
  { value: 'context', name: 'Context window' },
  { value: 'newest', name: 'Recently updated' },
]

/** The catalog with its prices: searched, filtered and sorted as the address says. */
export function ModelsPage() {
  const filters = useSearch({ from: '/site/models/' })
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
          <a href="/pricing.json">pricing.json</a>.
        </>
      }
    >
      <QueryView query={useQuery(pricingQuery)}>
        {({ data }) => (
          <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-[15rem_minmax(0,1fr)] lg:gap-8">
            <ModelFilterForm models={data} filters={filters} onChange={change} />
            <div className="stack">
              <div className="toolbar max-sm:[&_.field]:basis-full">
                <SearchField
                  value={filters.q ?? ''}
                  onChange={(q) => change({ q: q === '' ? undefined : q })}
                />
                <SelectField
                  label="Sort by"
                  value={filters.sort ?? 'name'}
                  options={ORDERS}
                  onChange={(sort) =>
                    change({ sort: sort === 'name' ? undefined : (sort as ModelFilters['sort']) })
                  }
                />
              </div>
              <Found models={data} filters={filters} />
            </div>
          </div>
        )}
      </QueryView>
    </SitePage>
  )
}

function Found({ models, filters }: { models: PricingFeedEntry[]; filters: ModelFilters }) {
  // Typing stays quick while hundreds of rows are drawn.
  const deferred = useDeferredValue(filters)
  const found = useMemo(() => filterModels(models, deferred), [models, deferred])
  return (
    <>
      <p className="text-sm text-muted" role="status">
        {plural(found.length, 'model')}
      </p>
      {found.length === 0 ? (
        <div className="panel">
          <EmptyState icon={SearchX}>
            No models found. Remove a filter or shorten the search; “Include unavailable models” also lists
            models without a provider here.
          </EmptyState>
        </div>
      ) : (
        // Another search begins at its top again.
        <ModelList key={JSON.stringify(deferred)} models={found} />
      )}
    </>
  )
}
