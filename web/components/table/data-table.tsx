import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Page } from '../../../src/core/api/shared.ts'
import { EmptyState, QueryView } from '../feedback/messages.tsx'
import { Button } from '../form/button.tsx'

export interface Column<T> {
  header: string
  cell: (row: T) => ReactNode
  numeric?: boolean
  /** The column that names the row: the head of its card on a phone. */
  title?: boolean
}

/** Rows without an id need a key of their own. */
type Keyed<T> = T extends { id: string } ? { rowKey?: (row: T) => string } : { rowKey: (row: T) => string }

type DataTableProps<T> = {
  caption: string
  columns: ReadonlyArray<Column<T> | false>
  rows: readonly T[]
  /** Shown instead of the table while there are no rows. */
  empty?: ReactNode
} & Keyed<T>

/**
 * A table with a caption. On a phone each row becomes a card; the roles are spelled out because browsers forget
 * them for rows that are not laid out as a table.
 */
export function DataTable<T>(props: DataTableProps<T>) {
  const { caption, rows, empty } = props
  const columns = props.columns.filter((column) => column !== false)
  const keyOf = props.rowKey ?? ((row: T) => (row as { id: string }).id)
  if (rows.length === 0 && empty) return <p className="panel-body muted">{empty}</p>
  return (
    <div className="table-region">
      {/* biome-ignore-start lint/a11y/noRedundantRoles: see above */}
      <table className="table" role="table">
        <caption className="visually-hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ header, numeric }) => (
              <th key={header} scope="col" role="columnheader" className={numeric ? 'numeric' : undefined}>
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row">
              {columns.map((column) => (
                <td key={column.header} role="cell" data-label={column.header} className={cellClass(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {/* biome-ignore-end lint/a11y/noRedundantRoles: see above */}
    </div>
  )
}

const cellClass = ({ numeric, title }: Column<never>): string | undefined =>
  title ? 'table-title' : numeric ? 'numeric' : undefined

/** A cell of two lines, the second in small type. */
export function TwoLines({ children, second }: { children: ReactNode; second: ReactNode }) {
  return (
    <span className="stack-tight">
      {children}
      <span className="small muted">{second}</span>
    </span>
  )
}

/** A list read page by page: its rows and a button for more. */
export function PageList<T>(props: {
  query: UseInfiniteQueryResult<{ pages: Array<Page<T>> }, Error>
  icon: LucideIcon
  /** Shown while the list has no rows. */
  empty: ReactNode
  children: (rows: T[]) => ReactNode
}) {
  const { query, icon, empty, children } = props
  const { isFetchingNextPage: isFetching } = query
  return (
    <QueryView query={query}>
      {({ pages }) => {
        const rows = pages.flatMap((page) => page.data)
        if (rows.length === 0) return <EmptyState icon={icon}>{empty}</EmptyState>
        return (
          <>
            {children(rows)}
            {query.hasNextPage && (
              <div className="table-foot">
                <Button size="small" disabled={isFetching} onClick={() => void query.fetchNextPage()}>
                  {isFetching ? 'Loading …' : 'Show more'}
                </Button>
              </div>
            )}
          </>
        )
      }}
    </QueryView>
  )
}
