import { createHash } from 'node:crypto'
import { writeBody } from '../../core/calls/call-body.ts'
import type { CachedUnder, ResponseEnvelope } from '../../core/calls/call-job.ts'
import type { CompletedCall } from '../../core/calls/call-outcome.ts'
import type { FrameBody } from '../../core/calls/frames.ts'
import type { CallRequest } from '../../core/calls/kinds/call-kinds.ts'
import type { AllowList } from '../../core/routing/allow-list.ts'
import { readScript } from '../../platform/redis/read-script.ts'
import { defineScript, type Redis, redisOf } from '../../platform/redis/redis.ts'
import { responseCacheKeys, shardOf } from '../../platform/redis/redis-keys.ts'
import type { Sealer } from '../../platform/sealing.ts'

/** A complete response, which the same request of the same account gets again. */
export interface CachedResponse {
  /** Of the call that was answered by a provider. */
  envelope: ResponseEnvelope
  /** All its frames, in order. */
  frames: readonly FrameBody[]
  /** Unix milliseconds. */
  storedAt: number
}

/** Stored sizes in bytes: sealed, in base64. */
interface ResponseCacheLimits {
  perAnswer: number
  perAccount: number
  inAll: number
}

/** Bytes of cached responses; those that expire first are dropped. A short one counts as 2 kB, so entries are bounded too. */
export const CACHED_RESPONSES = { perAccount: 16 * 1024 * 1024, inAll: 256 * 1024 * 1024 }
const ENTRY_BYTES_MIN = 2048

const BOUNDED_ENTRIES = readScript(import.meta.url, './bounded-entries.lua')

// Stores a response. KEYS 1 entry, 2 absent key   ARGV 1 prefix of the counts, 2 account id, 3 sealed response, 4
// lifetime ms, 5 counted bytes, 6 maximum bytes of an account, 7 of all
const KEEP = `${BOUNDED_ENTRIES}
local lifetime, size = tonumber(ARGV[4]), tonumber(ARGV[5])
if count(ARGV[1], KEYS[1], ARGV[2], size, lifetime, tonumber(ARGV[6]), tonumber(ARGV[7])) then
  redis.call('SET', KEYS[1], ARGV[3], 'PX', lifetime)
else
  redis.call('DEL', KEYS[1])
end`

// Removes an entry, or some of an account. KEYS 1 absent key   ARGV 1 prefix of the counts, 2 account id, 3 entry or ''
// Returns how many were removed.
const REMOVE = `${BOUNDED_ENTRIES}
local entries = ARGV[3] ~= '' and { ARGV[3] }
  or redis.call('ZRANGE', ARGV[1] .. ':ends:' .. ARGV[2], 0, AT_ONCE - 1)
for _, entry in ipairs(entries) do
  uncount(ARGV[1], entry)
  redis.call('DEL', entry)
end
return #entries`

/**
 * Responses of calls whose client asked for the response cache, sealed under their account and request. Bounded like
 * the responses that are kept for an Idempotency-Key, and separately.
 */
export type ResponseCache = ReturnType<typeof createResponseCache>

export function createResponseCache(redis: Redis, sealer: Sealer, limits: ResponseCacheLimits) {
  const keep = defineScript(redis, 'syKeepCached', KEEP)
  const remove = createRemove(redis)
  const keysOf = (accountId: string) => responseCacheKeys(shardOf(accountId, redis))
  return {
    async find(accountId: string, digest: string): Promise<CachedResponse | null> {
      const sealed = await redisOf(accountId, redis).get(keysOf(accountId).entry(accountId, digest))
      return sealed === null
        ? null
        : (JSON.parse(sealer.open(sealed, contextOf(accountId, digest))) as CachedResponse)
    },
    /** Does nothing for a response that is too long, or for which there is no space. */
    async keep(accountId: string, { digest, seconds }: CachedUnder, response: CachedResponse): Promise<void> {
      const sealed = sealer.seal(JSON.stringify(response), contextOf(accountId, digest))
      if (sealed.length > limits.perAnswer) return
      const { entry, absent, counts } = keysOf(accountId)
      const size = Math.max(sealed.length, ENTRY_BYTES_MIN)
      const bounds = [limits.perAccount, Math.floor(limits.inAll / redis.shards)]
      await keep(
        [entry(accountId, digest), absent],
        [counts, accountId, sealed, seconds * 1000, size, ...bounds],
      )
    },
    async drop(accountId: string, { digest }: CachedUnder): Promise<void> {
      await remove(accountId, keysOf(accountId).entry(accountId, digest))
    },
  }
}

function createRemove(redis: Redis) {
  const remove = defineScript(redis, 'syRemoveCached', REMOVE)
  return (accountId: string, entry: string): Promise<number> => {
    const { absent, counts } = responseCacheKeys(shardOf(accountId, redis))
    return remove([absent], [counts, accountId, entry]) as Promise<number>
  }
}

/** Removes what is cached for an account and returns how many. A call that runs may store its response afterwards. */
export function createClearCachedResponses(redis: Redis) {
  const remove = createRemove(redis)
  return async (accountId: string): Promise<number> => {
    for (let removed = 0; ; ) {
      const some = await remove(accountId, '')
      if (some === 0) return removed
      removed += some
    }
  }
}

const contextOf = (accountId: string, digest: string): string => `${accountId}:${digest}`

/** What must be the same for two requests to have the same response: the surface, the request, and what the key may use. */
export function requestDigest(
  surface: string,
  request: CallRequest,
  allowList: AllowList | undefined,
): string {
  const { content, ...asked } = request
  const hash = createHash('sha256')
  hash.update(JSON.stringify([surface, asked, allowList ?? null], readable))
  hash.update(writeBody(content))
  return hash.digest('base64url')
}

const readable = (_name: string, value: unknown): unknown => {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Set ? [...value].sort() : value
}

/** No refusal, nothing cut off, nothing that waits for another turn of its provider. */
const NATIVE_ENDS: readonly string[] = ['end_turn', 'stop_sequence', 'tool_use']

/** Whether a completion may be sent again: it is whole, and its model did not refuse. */
export const mayBeCached = ({ finishReason, nativeStop, message }: CompletedCall): boolean =>
  (finishReason === 'stop' || finishReason === 'tool_calls') &&
  (nativeStop === undefined || NATIVE_ENDS.includes(nativeStop.stop_reason)) &&
  !message.refusal
