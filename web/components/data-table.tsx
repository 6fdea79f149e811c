import type { ReactNode } from 'react'

export interface Column<T> {
  header: string
  cell: (row: T) => ReactNode
  numeric?: boolean
  /** The column that names the row: the head of its card on a phone. */
  title?: boolean
}

/**
 * A table with a caption. On a phone each row becomes a card; the roles are spelled out because browsers forget
 * them for rows that are not laid out as a table.
 */
export function DataTable<T>(props: {
  caption: string
  columns: ReadonlyArray<Column<T>>
  rows: readonly T[]
  rowKey: (row: T) => string
  /** A last row of sums; takes the same columns. */
  after?: ReactNode
}) {
  const { caption, columns, rows, rowKey, after } = props
  return (
    <div className="table-region">
      {/* biome-ignore-start lint/a11y/noRedundantRoles: see above */}
      <table className="table" role="table">
        <caption className="visually-hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th
                key={column.header}
                scope="col"
                role="columnheader"
                className={column.numeric ? 'numeric' : undefined}
              >
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={rowKey(row)} role="row">
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
      {after}
    </div>
  )
}

const cellClass = ({ numeric, title }: Column<never>): string | undefined =>
  title ? 'table-title' : numeric ? 'numeric' : undefined
