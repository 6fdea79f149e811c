import type { ReactNode } from 'react'
import { messageOf } from '../api/request.ts'
import { SkeletonLines } from './loading.tsx'
import { Note } from './note.tsx'

interface Answer<T> {
  data: T | undefined
  error: Error | null
  refetch: () => unknown
}

/** What a query has: its data, lines that stand for it while it comes, or why it did not come. */
export function QueryView<T>(props: {
  query: Answer<T>
  loading?: ReactNode
  children: (data: T) => ReactNode
}) {
  const { query, loading = <SkeletonLines />, children } = props
  // What is there stays on screen while a later attempt fails.
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <LoadFailure error={query.error} retry={() => void query.refetch()} />
  return loading
}

/** Says why something could not be read, and offers to try again. */
export function LoadFailure({ error, retry }: { error: Error; retry: () => void }) {
  return (
    <div className="panel-body">
      <Note tone="bad" announce>
        <p>{messageOf(error)}</p>
        <p>
          <button type="button" className="button button-small" onClick={retry}>
            Try again
          </button>
        </p>
      </Note>
    </div>
  )
}
