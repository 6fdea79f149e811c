import { type Static, Type } from 'typebox'
import type { CallQuery, ListedCalls } from '../../billing/call-records/call-list.ts'
import type { ListedCall } from '../../billing/call-records/call-record.ts'
import type { CallPage } from '../../core/api/calls.ts'
import { formatCallPosition, parseCallPosition } from '../../core/billing/call-cursor.ts'
import { CALL_PAGE } from '../../core/billing/call-position.ts'
import { isoTime, parseMoment } from '../../core/kernel/time.ts'

/** A text that calls are searched by. */
export const SearchText = Type.Optional(Type.String({ minLength: 1, maxLength: 200 }))

const CallPageParameters = Type.Object(CALL_PAGE)
export type CallPageQuery = Partial<Static<typeof CallPageParameters>>

/** The order and the page of a list of calls from its parameters. Throws ApiError `invalid_request`. */
export const askedPage = ({
  sort = 'time',
  order = 'desc',
  cursor,
  at,
}: CallPageQuery): Pick<CallQuery, 'order' | 'position' | 'atMs'> => ({
  order: { by: sort, isAscending: order === 'asc' },
  position: cursor === undefined ? null : parseCallPosition(cursor),
  atMs: at === undefined ? null : parseMoment(at),
})

/** The JSON of a page of calls. */
export const callPage = <T>(page: ListedCalls, view: (call: ListedCall) => T): CallPage<T> => ({
  object: 'list',
  data: page.calls.map(view),
  has_more: page.next !== null,
  next_cursor: page.next && formatCallPosition(page.next),
  previous_cursor: page.previous && formatCallPosition(page.previous),
  searched_to: page.searchedToMs === null ? null : isoTime(page.searchedToMs),
})
