import { ApiError } from '../kernel/errors.ts'

/**
 * A place in an account's ledger, newest first: after this movement (unix ms and id) and after this day of charges
 * (days since 1970). Null: from the newest on.
 */
export interface LedgerPosition {
  movement: { at: number; id: string } | null
  day: number | null
}

const CURSOR = /^(\d{0,6})\|(?:(\d{1,15})\.([\w./:-]{1,200}))?$/

/** Reads a cursor as `formatLedgerCursor` printed it; the newest without one. Throws ApiError `invalid_request`. */
export function readLedgerCursor(text: string | undefined): LedgerPosition {
  if (text === undefined) return { movement: null, day: null }
  const match = CURSOR.exec(Buffer.from(text, 'base64url').toString('latin1'))
  if (!match)
    throw new ApiError('invalid_request', 'Send `cursor` just as `next_cursor` had it.', { param: 'cursor' })
  const [, day, at, id] = match
  return { movement: at && id ? { at: Number(at), id } : null, day: day ? Number(day) : null }
}

export const formatLedgerCursor = ({ movement, day }: LedgerPosition): string =>
  Buffer.from(`${day ?? ''}|${movement ? `${movement.at}.${movement.id}` : ''}`).toString('base64url')
