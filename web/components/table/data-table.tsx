import { useInfiniteQuery } from '@tanstack/react-query'
import type { LucideIcon } from 'lucide-react'
import { type ReactNode, useRef } from 'react'
import type { pagesOf } from '../../api/read.ts'
import { EmptyState, QueryView } from '../feedback/messages.tsx'
import { Button } from '../form/button.tsx'
import { Panel } from '../layout/page.tsx'
import { MoneyPlace } from '../text/money.tsx'
import { useTableLayout } from './use-table-layout.ts'

/** Rows without an id need a key of their own. */
type Keyed<T> = T extends { id: string } ? { rowKey?: (row: T) => string } : { rowKey: (row: T) => string }

type DataTableProps<T, Header extends string> = {
  caption: string
  rows: readonly T[]
  /** What the cells of each column show; false leaves a column out. */
  columns: Record<Header, ((row: T) => ReactNode) | false>
  /** The column that names the row, else the first: the head of its card on a phone. */
  title?: NoInfer<Header>
  /** Columns aligned to the right, as the one of actions is. */
  numeric?: ReadonlyArray<NoInfer<Header>>
  /** Columns of long texts, which take the whole width of a card. */
  long?: ReadonlyArray<NoInfer<Header>>
  /** Shown instead of the table while there are no rows. */
  empty?: ReactNode
} & Keyed<T>

/**
 * A table with a caption. Where there is no room for all columns each row becomes a card; the roles are spelled out
 * because browsers forget them for rows that are not laid out as a table. Amounts in numeric columns are aligned.
 */
export function DataTable<T, Header extends string>(props: DataTableProps<T, Header>) {
  const { caption, rows, columns, numeric = [], long = [], empty } = props
  const region = useRef<HTMLDivElement>(null)
  useTableLayout(region)
  const headers = (Object.keys(columns) as Header[]).filter((header) => columns[header])
  const title = props.title ?? headers[0]
  const keyOf = props.rowKey ?? ((row: T) => (row as { id: string }).id)
  const isRight = (header: Header) => numeric.includes(header) || header === 'Actions'
  const align = (header: Header) => (isRight(header) ? 'numeric' : undefined)
  const classOf = (header: Header) => {
    if (header === title) return 'table-title'
    if (header === 'Actions') return 'table-action numeric'
    return long.includes(header) ? 'table-long' : align(header)
  }
  if (rows.length === 0 && empty) return <p className="panel-body text-muted">{empty}</p>
  return (
    <div ref={region} className="table-region">
      {/* biome-ignore-start lint/a11y/noRedundantRoles: see above */}
      <table className="data-table" role="table">
        <caption className="sr-only">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {headers.map((header) => (
              <th
                key={header}
                scope="col"
                role="columnheader"
                className={header === 'Actions' ? classOf(header) : align(header)}
              >
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row">
              {headers.map((header) => (
                <td key={header} role="cell" data-label={header} className={classOf(header)}>
                  <MoneyPlace value={isRight(header) ? 'column' : 'figure'}>
                    {columns[header] ? columns[header](row) : null}
                  </MoneyPlace>
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

/** A cell of two lines, the second in small type; without one it is a line. */
export function TwoLines(props: { children: ReactNode; second?: ReactNode; nowrap?: boolean }) {
  const { children, second, nowrap = false } = props
  return (
    <span className={nowrap ? 'stack-tight whitespace-nowrap' : 'stack-tight'}>
      <span>{children}</span>
      {second && <span className="text-sm text-muted">{second}</span>}
    </span>
  )
}

/** A panel with a list that is read page by page: its rows and a button for more. */
export function ListPanel<T>(props: {
  title: string
  actions?: ReactNode
  /** Shown above the rows, and also while there are none. */
  filters?: ReactNode
  query: ReturnType<typeof pagesOf<T>>
  icon: LucideIcon
  /** Shown while the list has no rows. */
  empty: ReactNode
  children: (rows: T[]) => ReactNode
}) {
  const { title, actions, filters, icon, empty, children } = props
  const query = useInfiniteQuery(props.query)
  const { isFetchingNextPage: isFetching } = query
  return (
    <Panel title={title} actions={actions}>
      {filters}
      <QueryView query={query}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.data)
          if (rows.length === 0) return <EmptyState icon={icon}>{empty}</EmptyState>
          return (
            <>
              {children(rows)}
              {query.hasNextPage && (
                <div className="flex justify-center border-t border-line p-3">
                  <Button size="small" disabled={isFetching} onClick={() => void query.fetchNextPage()}>
                    {isFetching ? 'Loading …' : 'Show more'}
                  </Button>
                </div>
              )}
            </>
          )
        }}
      </QueryView>
    </Panel>
  )
}
