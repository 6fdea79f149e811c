import { ArrowDown, ArrowUp } from 'lucide-react'
import type { ReactNode } from 'react'
import { SelectField } from '../form/fields.tsx'

/** The order of a table's rows, and the columns that it can be chosen by. */
export interface TableSort<Header extends string> {
  /** What each of these columns is sorted by. */
  columns: Partial<Record<Header, string>>
  by: string
  isAscending: boolean
  onSort: (by: string, isAscending: boolean) => void
}

export const ariaSort = <Header extends string>(sort: TableSort<Header> | undefined, header: Header) =>
  sort?.columns[header] === undefined || sort.columns[header] !== sort.by
    ? undefined
    : sort.isAscending
      ? 'ascending'
      : 'descending'

/** The head of a column: a button where the rows can be sorted by it, first from the largest or the latest. */
export function SortHeader<Header extends string>(props: {
  sort: TableSort<Header> | undefined
  header: Header
  children: ReactNode
}) {
  const { sort, header, children } = props
  const by = sort?.columns[header]
  if (!sort || by === undefined) return children
  const isChosen = by === sort.by
  const Icon = sort.isAscending ? ArrowUp : ArrowDown
  return (
    <button
      type="button"
      className="inline-flex cursor-pointer items-center gap-1 border-0 bg-transparent p-0 hover:text-ink hover:underline"
      onClick={() => sort.onSort(by, isChosen && !sort.isAscending)}
    >
      {children}
      {isChosen && <Icon size={12} aria-hidden="true" />}
    </button>
  )
}

/** The same choice for a table laid out as cards, which has no heads of columns. */
export function SortChoice<Header extends string>({ sort }: { sort: TableSort<Header> }) {
  const headers = Object.entries(sort.columns) as Array<[Header, string]>
  return (
    <div className="table-sort-choice toolbar px-inset py-2">
      <SelectField
        label="Sort by"
        value={`${sort.by} ${sort.isAscending}`}
        options={headers.flatMap(([header, by]) =>
          [false, true].map((isAscending) => ({
            value: `${by} ${isAscending}`,
            name: `${header}, ${isAscending ? 'ascending' : 'descending'}`,
          })),
        )}
        onChange={(value) => {
          const [by = '', isAscending] = value.split(' ')
          sort.onSort(by, isAscending === 'true')
        }}
      />
    </div>
  )
}
