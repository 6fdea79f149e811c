import { createHash } from 'node:crypto'

const ID_CHARACTERS = 24
const NEUTRAL_ID = /^call_[A-Za-z0-9]{1,40}$/

/**
 * The id of a tool call as clients see it. A provider's own may name its maker by its form, so any but the
 * usual one of this wire is replaced, the same by the same.
 */
export const toolCallId = (upstreamId: string): string =>
  NEUTRAL_ID.test(upstreamId)
    ? upstreamId
    : `call_${createHash('sha256').update(upstreamId).digest('hex').slice(0, ID_CHARACTERS)}`
