import { Type } from 'typebox'
import type { OperatorPage } from '../../core/api/shared.ts'

/** The parameters of a page of a list that is ordered by its ids. */
export const ID_PAGE = {
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50 }),
  /** The id that ended the page before. */
  cursor: Type.Optional(
    Type.String({
      pattern: '^[\\w-]{1,80}$',
      errorMessage: { pattern: 'Send `cursor` just as `next_cursor` had it.' },
    }),
  ),
}

/** A page, read with one entry more than it shows, to tell whether there is another. */
export async function idPage<Row extends { id: string }, T>(
  { limit, cursor }: { limit: number; cursor?: string },
  read: (page: { after: string | null; limit: number }) => Promise<Row[]>,
  view: (row: Row) => T,
): Promise<OperatorPage<T>> {
  const rows = await read({ after: cursor ?? null, limit: limit + 1 })
  const shown = rows.slice(0, limit)
  const hasMore = rows.length > limit
  return {
    object: 'list',
    data: shown.map(view),
    has_more: hasMore,
    next_cursor: hasMore ? (shown.at(-1)?.id ?? null) : null,
  }
}
