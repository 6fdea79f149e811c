import { ChevronLeft, ChevronRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { formatCount } from '../../lib/format.ts'
import { rowsOfPage } from '../../lib/rows-of-page.ts'
import { Button } from '../form/button.tsx'

/** The foot of a table that is shown page by page. `of`: what is listed. Null: there is no such page. */
export const PageNav = (props: {
  of: string
  children: ReactNode
  onPrevious: (() => void) | null
  onNext: (() => void) | null
}) => (
  <nav
    className="spread border-t border-line px-inset py-3 text-sm text-muted"
    aria-label={`Pages of ${props.of}`}
  >
    <span>{props.children}</span>
    <span className="row gap-2">
      <Button
        size="small"
        icon={ChevronLeft}
        disabled={!props.onPrevious}
        onClick={() => props.onPrevious?.()}
      >
        Previous
      </Button>
      <Button size="small" icon={ChevronRight} disabled={!props.onNext} onClick={() => props.onNext?.()}>
        Next
      </Button>
    </span>
  </nav>
)

/** Rows that are all here, shown fifty at a time. `page` counts from 1. */
export function PagedRows<T>(props: {
  of: string
  rows: readonly T[]
  page: number
  onPage: (page: number) => void
  children: (rows: readonly T[]) => ReactNode
}) {
  const { of, rows, onPage, children } = props
  const { shown, page, first, last, pages } = rowsOfPage(rows, props.page)
  return (
    <>
      {children(shown)}
      {pages > 1 && (
        <PageNav
          of={of}
          onPrevious={page > 1 ? () => onPage(page - 1) : null}
          onNext={page < pages ? () => onPage(page + 1) : null}
        >
          {formatCount(first)}–{formatCount(last)} of {formatCount(rows.length)}
        </PageNav>
      )}
    </>
  )
}
