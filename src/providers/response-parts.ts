import { createHash } from 'node:crypto'
import type { Usage } from '../core/billing/pricing.ts'

export type Fields = Record<string, unknown>

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object that a text is as JSON, or null for anything else. */
export function parseObject(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    // The caller counts it as malformed.
    return null
  }
}

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

/** What a provider says of a prompt's audio and images; what is no number above zero is left out. */
export function mediaTokens(audio: unknown, image: unknown): Pick<Usage, 'audioTokens' | 'imageTokens'> {
  return {
    ...(typeof audio === 'number' && audio > 0 && { audioTokens: audio }),
    ...(typeof image === 'number' && image > 0 && { imageTokens: image }),
  }
}
