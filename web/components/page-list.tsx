import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Page } from '../../src/core/api/shared.ts'
import { QueryView } from './query-view.tsx'

/** A list that comes by the page: what is there, and a button for more. */
export function PageList<T>(props: {
  query: UseInfiniteQueryResult<{ pages: Array<Page<T>> }, Error>
  empty: ReactNode
  children: (rows: T[]) => ReactNode
}) {
  const { query, empty, children } = props
  return (
    <QueryView query={query}>
      {({ pages }) => {
        const rows = pages.flatMap((page) => page.data)
        if (rows.length === 0) return empty
        return (
          <>
            {children(rows)}
            {query.hasNextPage && (
              <div className="table-foot">
                <button
                  type="button"
                  className="button button-small"
                  disabled={query.isFetchingNextPage}
                  onClick={() => void query.fetchNextPage()}
                >
                  {query.isFetchingNextPage ? 'Loading …' : 'Show more'}
                </button>
              </div>
            )}
          </>
        )
      }}
    </QueryView>
  )
}
