import { createHash } from 'node:crypto'
import type { CallEnvelope } from '../core/call-job.ts'
import { ApiError } from '../core/errors.ts'
import type { CallId } from '../core/ids.ts'
import { defineScript, type Redis } from '../platform/redis.ts'
import { idempotencyKey } from '../platform/redis-keys.ts'
import { IDEMPOTENCY_TTL_SECONDS } from '../relay/reply-archive.ts'

export type IdempotencyClaim =
  /** The first of its kind: it is to run as this call. */
  | { kind: 'first'; record: string }
  /** A repeat of a call; its envelope is null while that is being admitted. */
  | { kind: 'repeat'; record: string; callId: CallId; envelope: CallEnvelope | null }

/** The Idempotency-Keys of accounts: which call each stands for. */
export interface Idempotency {
  /** Claims a key for a call, or finds the call it stands for. Throws `idempotency_conflict` for another body. */
  claim(accountId: string, key: string, body: unknown, callId: CallId): Promise<IdempotencyClaim>
  /** The call is admitted: a repeat may wait for it from now on, and finds it for a day. */
  confirm(record: string, envelope: CallEnvelope): Promise<void>
  /** The call a record stands for now; null when it is free. */
  find(record: string): Promise<{ callId: CallId; envelope: CallEnvelope | null } | null>
}

/** An instance that dies between claim and admission blocks the key this long. */
const CLAIM_TTL_SECONDS = 10

// Claims a record, or reads it.
// KEYS 1 record   ARGV 1 fingerprint, 2 call id, 3 seconds until an unconfirmed claim lapses
// Returns nil when claimed, else {fingerprint, call id, envelope or nil}
const CLAIM = `
if redis.call('HSETNX', KEYS[1], 'fingerprint', ARGV[1]) == 1 then
  redis.call('HSET', KEYS[1], 'call', ARGV[2])
  redis.call('EXPIRE', KEYS[1], ARGV[3])
  return nil
end
return redis.call('HMGET', KEYS[1], 'fingerprint', 'call', 'envelope')`

export function createIdempotency(redis: Redis): Idempotency {
  const claim = defineScript(redis, 'syClaimIdempotency', CLAIM)
  const parse = (text: string | null | undefined) => (text ? (JSON.parse(text) as CallEnvelope) : null)
  return {
    async claim(accountId, key, body, callId) {
      const record = idempotencyKey(accountId, digest(key))
      const fingerprint = digest(JSON.stringify(body))
      const found = (await claim([record], [fingerprint, callId, CLAIM_TTL_SECONDS])) as string[] | null
      if (found === null) return { kind: 'first', record }
      if (found[0] !== fingerprint) {
        throw new ApiError(
          'idempotency_conflict',
          'This Idempotency-Key was used with another body. Use a new key.',
          {
            shouldRetry: false,
          },
        )
      }
      return { kind: 'repeat', record, callId: found[1] as CallId, envelope: parse(found[2]) }
    },
    async confirm(record, envelope) {
      await redis
        .multi()
        .hset(record, 'envelope', JSON.stringify(envelope))
        .expire(record, IDEMPOTENCY_TTL_SECONDS)
        .exec()
    },
    async find(record) {
      const [callId, envelope] = await redis.hmget(record, 'call', 'envelope')
      return callId ? { callId: callId as CallId, envelope: parse(envelope) } : null
    },
  }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url')
