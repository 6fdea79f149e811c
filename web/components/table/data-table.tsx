import { useInfiniteQuery } from '@tanstack/react-query'
import { type CSSProperties, type ReactNode, useRef } from 'react'
import type { pagesOf } from '../../api/read.ts'
import { formatCount } from '../../lib/format.ts'
import { Empty, QueryView } from '../feedback/messages.tsx'
import { Button } from '../form/button.tsx'
import { Panel } from '../layout/page.tsx'
import { MoneyPlace } from '../text/money.tsx'
import { type RowSelection, SelectBox } from './selection.tsx'
import { ariaSort, SortChoice, SortHeader, type TableSort } from './table-sort.tsx'
import { useTableLayout } from './use-table-layout.ts'

/** Rows without an id need a key of their own. */
type Keyed<T> = T extends { id: string } ? { rowKey?: (row: T) => string } : { rowKey: (row: T) => string }

type DataTableProps<T, Header extends string> = {
  caption: string
  rows: readonly T[]
  /** What the cells of each column show; false leaves a column out. */
  columns: Record<Header, ((row: T) => ReactNode) | false>
  /** The column that names the row, else the first. A link in it is that of the whole row. */
  title?: NoInfer<Header>
  /** Columns aligned to the right, as the one of actions is. */
  numeric?: ReadonlyArray<NoInfer<Header>>
  /** Numeric columns of amounts in whole cents, such as payments; others have the decimals that calls cost. */
  cents?: ReadonlyArray<NoInfer<Header>>
  /** Columns of long texts, which have lines of their own on a phone. */
  long?: ReadonlyArray<NoInfer<Header>>
  /** On a phone beside the name of the row, without its header: else the last numeric column; null: none. */
  lead?: NoInfer<Header> | null
  /** All that a phone shows in the line below, without headers; else it has every column, with its header. */
  brief?: ReadonlyArray<NoInfer<Header>>
  /**
   * The width of columns in rem: then rows are lines of 40 pixels, what has no room in a cell is cut off with an ellipsis,
   * and the first column without a width takes the rest.
   */
  plan?: Partial<Record<NoInfer<Header>, number>>
  /** Checkboxes at the left edge. */
  selection?: RowSelection<T> | undefined
  /** Absent: the rows cannot be sorted. */
  sort?: TableSort<NoInfer<Header>>
  /** Shown instead of the table while there are no rows. */
  empty?: ReactNode
} & Keyed<T>

/**
 * A table with a caption. Where there is no room for all columns a row becomes some lines of text; the roles are spelled
 * out because browsers forget them for rows that are not laid out as a table. Amounts of a numeric column have the same
 * decimals.
 */
export function DataTable<T, Header extends string>(props: DataTableProps<T, Header>) {
  const { caption, rows, columns, plan, selection, sort, empty } = props
  const region = useRef<HTMLDivElement>(null)
  const firstLayout = useTableLayout(region)
  const headers = (Object.keys(columns) as Header[]).filter((header) => columns[header])
  const { classOf, placeOf } = columnLooks(props, headers)
  const keyOf = props.rowKey ?? ((row: T) => (row as { id: string }).id)
  if (rows.length === 0 && empty) return <Empty>{empty}</Empty>
  return (
    <div ref={region} className="table-region" data-layout={firstLayout}>
      {sort && <SortChoice sort={sort} />}
      {/* biome-ignore-start lint/a11y/noRedundantRoles: see above */}
      <table
        className={plan ? 'data-table table-planned' : 'data-table'}
        style={plan && ({ '--planned': `${plannedRem(plan, headers)}rem` } as CSSProperties)}
        role="table"
      >
        <caption className="sr-only">{caption}</caption>
        {plan && (
          <colgroup>
            {headers.map((header) => (
              <col key={header} style={{ width: plan[header] && `${plan[header]}rem` }} />
            ))}
          </colgroup>
        )}
        <thead role="rowgroup">
          <tr role="row">
            {selection && (
              <th scope="col" role="columnheader" className="table-select">
                <SelectAll selection={selection} rows={rows} />
              </th>
            )}
            {headers.map((header) => (
              <th
                key={header}
                scope="col"
                role="columnheader"
                aria-sort={ariaSort(sort, header)}
                className={classOf(header)}
              >
                <SortHeader sort={sort} header={header}>
                  {header}
                </SortHeader>
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row">
              {selection && (
                <td role="cell" className="table-select">
                  <SelectBox
                    name={selection.nameOf(row)}
                    checked={selection.isChosen(row)}
                    disabled={!selection.mayChoose(row)}
                    onChange={(checked) => selection.choose([row], checked)}
                  />
                </td>
              )}
              {headers.map((header) => (
                <td key={header} role="cell" data-label={header} className={classOf(header)}>
                  <MoneyPlace value={placeOf(header)}>
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

/** Of the column without a width. */
const REST_REM = 12

/** Where a planned table has less room, its rows are cards. */
const plannedRem = <Header extends string>(
  plan: Partial<Record<Header, number>>,
  headers: readonly Header[],
): number => headers.reduce((sum, header) => sum + (plan[header] ?? REST_REM), 0)

/** The classes of a column's cells, and the place of the amounts in them. */
function columnLooks<T, Header extends string>(
  { title, numeric = [], cents = [], long = [], lead, brief }: DataTableProps<T, Header>,
  headers: readonly Header[],
) {
  const head = title ?? headers[0]
  const isRight = (header: Header) => numeric.includes(header) || cents.includes(header)
  const leading = lead === undefined ? (cents.at(-1) ?? numeric.at(-1)) : lead
  const onPhone = (header: Header) => {
    if (header === head) return 'table-title'
    if (header === 'Actions') return 'table-action numeric'
    if (header === leading) return 'table-lead'
    if (long.includes(header)) return 'table-long'
    return brief && (brief.includes(header) ? 'table-brief' : 'table-more')
  }
  return {
    classOf: (header: Header) => [onPhone(header), isRight(header) && 'numeric'].filter(Boolean).join(' '),
    placeOf: (header: Header) => {
      if (cents.includes(header)) return 'cents'
      return isRight(header) || header === 'Actions' ? 'column' : 'figure'
    },
  }
}

/** The header of the checkboxes: one for all rows that may be chosen, where the table has it. */
function SelectAll<T>({ selection, rows }: { selection: RowSelection<T>; rows: readonly T[] }) {
  if (!selection.hasAll) return <span className="sr-only">Select</span>
  const choosable = rows.filter(selection.mayChoose)
  const chosen = choosable.filter(selection.isChosen).length
  return (
    <SelectBox
      name="Select all"
      checked={chosen > 0 && chosen === choosable.length}
      isPartly={chosen > 0 && chosen < choosable.length}
      disabled={choosable.length === 0}
      onChange={(checked) => selection.choose(choosable, checked)}
    />
  )
}

/** Words in place of the header on a phone. */
export const InCard = ({ children }: { children: string }) => <span className="in-card">{children}</span>

/** A count, with what is counted in place of the header on a phone. */
export const Counted = ({ count, name }: { count: number; name: string }) => (
  <span>
    {formatCount(count)}
    <InCard>{` ${name}`}</InCard>
  </span>
)

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
  /** Shown while the list has no rows. */
  empty: ReactNode
  children: (rows: T[]) => ReactNode
}) {
  const { title, actions, filters, empty, children } = props
  const query = useInfiniteQuery(props.query)
  const { isFetchingNextPage: isFetching } = query
  return (
    <Panel title={title} actions={actions}>
      {filters}
      <QueryView query={query}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.data)
          if (rows.length === 0) return <Empty>{empty}</Empty>
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
