import { Type } from 'typebox'
import { CALL_SORTS, type CallSort } from '../api/calls.ts'
import { Cursor } from './call-cursor.ts'

export interface CallOrder {
  by: CallSort
  isAscending: boolean
}

/** The order of an account's history: newest first. */
export const NEWEST_FIRST: CallOrder = { by: 'time', isAscending: false }

/** The parameters of the order and the page of a list of calls. */
export const CALL_PAGE = {
  sort: Type.Enum([...CALL_SORTS], { default: 'time' }),
  order: Type.Enum(['desc', 'asc'], { default: 'desc' }),
  /** Of `next_cursor` or `previous_cursor`. */
  cursor: Type.Optional(Cursor),
  /** A moment that a page without a cursor begins at. */
  at: Type.Optional(
    Type.String({
      format: 'moment',
      errorMessage: '`{param}` must be a date or a time such as 2027-01-31T12:00:00Z.',
    }),
  ),
}
