import { Type } from 'typebox'
import { CALL_SORTS, type CallSort } from '../api/calls.ts'

export interface CallOrder {
  by: CallSort
  isAscending: boolean
}

/** The order of an account's history: newest first. */
export const NEWEST_FIRST: CallOrder = { by: 'time', isAscending: false }

/** A place in a sorted list of calls, between two of them. */
export interface CallPosition {
  /** The page ends here; else it begins here. */
  isEnd: boolean
  /** The figure of the order: unix ms, pico-USD, milliseconds or tokens. */
  value: bigint
  /** The id of the call beside it. Calls of one figure are ordered by their ids. */
  id: string
}

/** A cursor as `formatCallPosition` prints it. */
export const Cursor = Type.String({
  format: 'cursor',
  errorMessage: '`{param}` is not valid. Pass the value of `next_cursor` unchanged.',
})

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

/** Whether PostgreSQL's bigint takes it. */
const isBigint = (value: bigint): boolean => BigInt.asIntN(64, value) === value

const POSITION = /^(b?)(-?\d{1,19})\.([\w~-]{0,64})$/

export const formatCallPosition = ({ isEnd, value, id }: CallPosition): string =>
  Buffer.from(`${isEnd ? 'b' : ''}${value}.${id}`).toString('base64url')

/** Parses a cursor printed by `formatCallPosition`; null for another text. */
export function parseCallPosition(text: string): CallPosition | null {
  const [, side, value, id] = POSITION.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? []
  if (value === undefined || id === undefined || !isBigint(BigInt(value))) return null
  return { isEnd: side === 'b', value: BigInt(value), id }
}
