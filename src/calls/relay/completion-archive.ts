import { readFileSync } from 'node:fs'
import type { FrameBody } from '../../core/calls/frames.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import { defineScript, type Redis } from '../../platform/redis/redis.ts'
import {
  IDEMPOTENCY_ANSWERS,
  IDEMPOTENCY_RECORDS,
  idempotencyKey,
  keptReplyKey,
} from '../../platform/redis/redis-keys.ts'
import type { Sealer } from '../../platform/sealing.ts'

/** How long a record of an Idempotency-Key and its answer are kept. */
export const IDEMPOTENCY_TTL_MS = 86_400_000

/** The call of an account that an Idempotency-Key stands for. */
export interface KeyedCall {
  id: CallId
  accountId: string
  /** Digest of the key. */
  idempotencyRecord: string
}

/** A whole answer: the frames of the claim that ended the call, from the first. */
interface KeptCompletion {
  generation: number
  frames: readonly FrameBody[]
}

/** How much may be kept for one account, and for all of them together. */
export interface KeptBounds {
  perAccount: number
  inAll: number
}

/** Sizes in bytes as kept: sealed, in base64. */
interface CompletionArchiveLimits extends KeptBounds {
  perAnswer: number
}

/**
 * Answers of calls that carried an Idempotency-Key, kept sealed for a day so that a repeat gets the same
 * one. The only text of a call that rests anywhere. Bounded: beyond a limit the oldest answers make room.
 */
export interface CompletionArchive {
  /**
   * Notes that a call has ended and its key stands for it, and keeps its answer. The answer is null where it
   * is too long to be kept whole; one that finds no room is not kept either.
   */
  end(call: KeyedCall, answer: KeptCompletion | null): Promise<void>
  read(callId: CallId): Promise<KeptCompletion | null>
  /**
   * Frees the key of a call that did not complete: a repeat runs anew. A key that stands for another call, or
   * for one that has ended with an answer, stays.
   */
  forget(call: KeyedCall): Promise<void>
}

/** Lua functions that count entries and make room for them; put before a script. */
export const BOUNDED_ENTRIES = readFileSync(new URL('./bounded-entries.lua', import.meta.url), 'utf8')

// Ends a call of an Idempotency-Key.
// KEYS 1 record, 2 answer   ARGV 1 call id, 2 account id, 3 sealed answer or '', 4 lifetime ms,
// 5 bytes an account, 6 bytes in all, 7 prefix of the counts of answers, 8 of records
const END = `${BOUNDED_ENTRIES}
local id, account, sealed, lifetime = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if redis.call('HGET', KEYS[1], 'call') == id then
  redis.call('HSET', KEYS[1], 'ended', 1)
  redis.call('PEXPIRE', KEYS[1], lifetime)
  redis.call('ZADD', ARGV[8] .. ':ends', 'XX', now + lifetime, KEYS[1])
  redis.call('ZADD', ARGV[8] .. ':ends:' .. account, 'XX', now + lifetime, KEYS[1])
end
if sealed ~= '' and count(ARGV[7], KEYS[2], account, #sealed, lifetime, tonumber(ARGV[5]), tonumber(ARGV[6])) then
  redis.call('SET', KEYS[2], sealed, 'PX', lifetime)
end`

// Deletes a record if it stands for a call that has not ended.
// KEYS 1 record   ARGV 1 call id, 2 prefix of the counts of records
const FORGET = `${BOUNDED_ENTRIES}
local call, ended = unpack(redis.call('HMGET', KEYS[1], 'call', 'ended'))
if call == ARGV[1] and not ended then
  uncount(ARGV[2], KEYS[1])
  redis.call('DEL', KEYS[1])
end`

export function createCompletionArchive(
  redis: Redis,
  sealer: Sealer,
  limits: CompletionArchiveLimits,
): CompletionArchive {
  const end = defineScript(redis, 'syEndIdempotency', END)
  const forget = defineScript(redis, 'syForgetIdempotency', FORGET)
  const recordKey = (call: KeyedCall) => idempotencyKey(call.accountId, call.idempotencyRecord)
  return {
    async end(call, answer) {
      const sealed = answer ? sealer.seal(JSON.stringify(answer), call.id) : ''
      const kept = sealed.length <= limits.perAnswer ? sealed : ''
      await end(
        [recordKey(call), keptReplyKey(call.id)],
        [
          call.id,
          call.accountId,
          kept,
          IDEMPOTENCY_TTL_MS,
          limits.perAccount,
          limits.inAll,
          IDEMPOTENCY_ANSWERS,
          IDEMPOTENCY_RECORDS,
        ],
      )
    },
    async read(callId) {
      const sealed = await redis.get(keptReplyKey(callId))
      return sealed === null ? null : (JSON.parse(sealer.open(sealed, callId)) as KeptCompletion)
    },
    async forget(call) {
      await forget([recordKey(call)], [call.id, IDEMPOTENCY_RECORDS])
    },
  }
}
