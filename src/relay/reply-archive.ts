import type { FrameBody } from '../core/frames.ts'
import type { CallId } from '../core/ids.ts'
import type { Redis } from '../platform/redis.ts'
import { keptReplyKey } from '../platform/redis-keys.ts'
import type { Sealer } from '../platform/sealing.ts'

/** How long a record of an Idempotency-Key and its answer are kept. */
export const IDEMPOTENCY_TTL_SECONDS = 86_400

/**
 * Answers of calls that carried an Idempotency-Key, kept sealed for a day so that a repeat gets the same
 * one. The only text of a call that rests anywhere.
 */
export interface ReplyArchive {
  keep(callId: CallId, frames: readonly FrameBody[]): Promise<void>
  read(callId: CallId): Promise<FrameBody[] | null>
  /** Frees an Idempotency-Key: its call came to nothing, and a repeat shall run anew. */
  forget(idempotencyRecord: string): Promise<void>
}

export function createReplyArchive(redis: Redis, sealer: Sealer): ReplyArchive {
  return {
    async keep(callId, frames) {
      const sealed = sealer.seal(JSON.stringify(frames), callId)
      await redis.set(keptReplyKey(callId), sealed, 'EX', IDEMPOTENCY_TTL_SECONDS)
    },
    async read(callId) {
      const sealed = await redis.get(keptReplyKey(callId))
      return sealed === null ? null : (JSON.parse(sealer.open(sealed, callId)) as FrameBody[])
    },
    async forget(idempotencyRecord) {
      await redis.del(idempotencyRecord)
    },
  }
}
