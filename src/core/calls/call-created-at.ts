import { decodeTime, isValid } from 'ulid'

const CALL_ID_PREFIX = 'chatcmpl_'

/** When a call's id was made, unix ms: it is a ULID, which starts with the time. Null for an id that is none. */
export function callCreatedAt(callId: string): number | null {
  if (!callId.startsWith(CALL_ID_PREFIX)) return null
  const ulid = callId.slice(CALL_ID_PREFIX.length)
  return isValid(ulid) ? decodeTime(ulid) : null
}
