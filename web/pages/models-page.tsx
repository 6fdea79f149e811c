import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { SearchX } from 'lucide-react'
import { useDeferredValue, useMemo } from 'react'
import type { PricingFeedEntry } from '../../src/core/catalog/pricing-feed-view.ts'
import { pricingQuery } from '../api/queries.ts'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { SelectField } from '../components/form/fields.tsx'
import { usePageTitle } from '../components/layout/page.tsx'
import { plural } from '../lib/format.ts'
import { filterModels, type ModelFilters } from '../lib/model-filters.ts'
import '../styles/models.css'
import { ModelFilterForm, SearchField } from './models/model-filter-form.tsx'
import { ModelList } from './models/model-list.tsx'

const ORDERS = [
  { value: 'name', name: 'Name' },
  { value: 'price', name: 'Cheapest first' },
  { value: 'dearest', name: 'Most expensive first' },
  { value: 'context', name: 'Largest context' },
  { value: 'newest', name: 'Latest update' },
]

/** The catalog with its prices: searched, filtered and sorted as the address says. */
export function ModelsPage() {
  const heading = usePageTitle('Models and prices')
  const filters = useSearch({ from: '/site/models/' })
  const navigate = useNavigate({ from: '/models/' })
  const change = (changed: ModelFilters) =>
    void navigate({
      search: (before) => ({ ...before, ...changed }),
      replace: true,
      resetScroll: false,
    })
  return (
    <div className="site-page">
      <div className="models-title stack gap-1">
        <h1 ref={heading} tabIndex={-1}>
          Models and prices
        </h1>
        <p className="muted">
          USD per million tokens, as charged. The maker's own list price is struck through. For machines:{' '}
          <a href="/pricing.json">pricing.json</a>.
        </p>
      </div>
      <QueryView query={useQuery(pricingQuery)}>
        {({ data }) => (
          <div className="models-layout">
            <ModelFilterForm models={data} filters={filters} onChange={change} />
            <div className="stack">
              <div className="models-search toolbar">
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
    </div>
  )
}

function Found({ models, filters }: { models: PricingFeedEntry[]; filters: ModelFilters }) {
  // Typing stays quick while hundreds of rows are drawn.
  const deferred = useDeferredValue(filters)
  const found = useMemo(() => filterModels(models, deferred), [models, deferred])
  return (
    <>
      <p className="muted small" role="status">
        {plural(found.length, 'model')}
      </p>
      {found.length === 0 ? (
        <div className="panel">
          <EmptyState icon={SearchX}>
            No model fits. Remove a filter or shorten the search; models that no provider serves here at
            present are shown with “Also unavailable ones”.
          </EmptyState>
        </div>
      ) : (
        // Another search begins at its top again.
        <ModelList key={JSON.stringify(deferred)} models={found} />
      )}
    </>
  )
}
