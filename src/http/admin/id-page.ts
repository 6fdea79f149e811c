import type { OperatorPage } from '../../core/api/shared.ts'
import { type QueryParameters, readCount, readText } from '../../core/billing/usage-query.ts'
import { ApiError } from '../../core/kernel/errors.ts'

/** A page of a list that is ordered by its ids. */
export interface IdPage {
  /** The id that ended the page before. */
  after: string | null
  limit: number
}

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 200
const ID = /^[\w-]{1,80}$/

/** Reads `cursor` and `limit`. Throws ApiError `invalid_request`. */
export function readIdPage(query: QueryParameters): IdPage {
  const after = readText(query, 'cursor')
  if (after !== null && !ID.test(after)) {
    throw new ApiError('invalid_request', 'Send `cursor` just as `next_cursor` had it.', { param: 'cursor' })
  }
  return { after, limit: readCount(query, 'limit', LIMIT_DEFAULT, LIMIT_MAX) }
}

/** The page, of which one entry more than asked for was read, to tell whether there is another. */
export function idPage<Row extends { id: string }, T>(
  rows: readonly Row[],
  { limit }: IdPage,
  view: (row: Row) => T,
): OperatorPage<T> {
  const shown = rows.slice(0, limit)
  const hasMore = rows.length > limit
  return {
    object: 'list',
    data: shown.map(view),
    has_more: hasMore,
    next_cursor: hasMore ? (shown.at(-1)?.id ?? null) : null,
  }
}
