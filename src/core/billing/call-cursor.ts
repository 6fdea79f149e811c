import { Type } from 'typebox'

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
