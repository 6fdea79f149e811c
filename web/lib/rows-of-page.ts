/** Rows that a page of a table shows. */
export const PAGE_ROWS = 50

/** One page of rows, counted from 1; of a page that is not there the nearest. `first` and `last` are numbers of rows, from 1. */
export function rowsOfPage<T>(rows: readonly T[], asked: number) {
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS))
  const page = Math.min(Math.max(1, Math.trunc(asked) || 1), pages)
  const start = (page - 1) * PAGE_ROWS
  const shown = rows.slice(start, start + PAGE_ROWS)
  return { shown, page, pages, first: start + 1, last: start + shown.length }
}
