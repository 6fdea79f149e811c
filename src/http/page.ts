import { Type } from 'typebox'
import { CLOSED } from '../core/api/request-fields.ts'
import type { Page } from '../core/api/shared.ts'

/** The parameters of a page of a list that is ordered by its ids. */
export const ID_PAGE = {
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50 }),
  /** The id that ended the page before. */
  cursor: Type.Optional(
    Type.String({
      pattern: '^[\\w-]{1,80}$',
      errorMessage: { pattern: '`cursor` is not valid. Pass the value of `next_cursor` unchanged.' },
    }),
  ),
}

/** The parameters of a page of a list in another order. */
export const PageQuery = Type.Object(
  { limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }), cursor: Type.Optional(Type.String()) },
  CLOSED,
)

/** Builds a page from rows that were read with one more than `limit`, to detect a further page. */
export function pageOf<Row, T>(
  rows: readonly Row[],
  limit: number,
  view: (row: Row) => T,
  cursorAfter: (shown: readonly Row[]) => string,
): Page<T> {
  const shown = rows.slice(0, limit)
  const hasMore = rows.length > limit
  return {
    object: 'list',
    data: shown.map(view),
    has_more: hasMore,
    next_cursor: hasMore ? cursorAfter(shown) : null,
  }
}

/** A page of a list that is ordered by its ids. */
export async function idPage<Row extends { id: string }, T>(
  { limit, cursor }: { limit: number; cursor?: string },
  read: (page: { after: string | null; limit: number }) => Promise<Row[]>,
  view: (row: Row) => T,
): Promise<Page<T>> {
  const rows = await read({ after: cursor ?? null, limit: limit + 1 })
  return pageOf(rows, limit, view, (shown) => shown.at(-1)!.id)
}

/** The parameters of a route that names a resource: `/things/:id`. */
export const OfId = Type.Object({ id: Type.String() })
