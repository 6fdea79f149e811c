import { createHash } from 'node:crypto'
import type { CallEnvelope, ResponseEnvelope } from '../../core/calls/call-job.ts'
import type { FrameBody, FrameError, RunOfCall } from '../../core/calls/frames.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { readScript } from '../../platform/redis/read-script.ts'
import { defineScript, type Redis, redisOf } from '../../platform/redis/redis.ts'
import { idempotencyKeys, type Sharded, shardOf } from '../../platform/redis/redis-keys.ts'
import type { Sealer } from '../../platform/sealing.ts'

/** How long a record of an Idempotency-Key and its response are kept. */
export const IDEMPOTENCY_TTL_MS = 86_400_000

/** Maximum size of what is kept for one account, and for all of them. */
interface KeptBounds {
  perAccount: number
  inAll: number
}

/** Lua functions that count entries and make space for them; prepended to scripts. */
const BOUNDED_ENTRIES = readScript(import.meta.url, './bounded-entries.lua')

/**
 * The call of an Idempotency-Key. States: claimed (a call is being admitted: no envelope; expires) → confirmed
 * (admitted: it has an envelope) → ended. A call that did not complete releases its key.
 */
export interface IdempotencyRecord {
  callId: CallId
  /** Null while the call is being admitted, and if only its id is still known. */
  envelope: ResponseEnvelope | null
  hasEnded: boolean
}

/** The use of an Idempotency-Key by one request. */
export interface KeyUse {
  accountId: string
  /** Names the record of the key. */
  digest: string
  /** Digest of the body: another body is another request. */
  fingerprint: string
  /** The call to assign to the key if it is new. */
  callId: CallId
}

export interface IdempotencyDependencies {
  redis: Redis
  /** The call of a key in PostgreSQL, if any. Called only when Redis may have lost the record. */
  findSettled: (accountId: string, digest: string) => Promise<CallId | null>
  logger: Logger
  /** Maximum number of records. */
  records?: KeptBounds
}

/** 1.6 kB of Redis's memory each (measured), with their places in the orders by age. */
const RECORDS: KeptBounds = { perAccount: 50_000, inAll: 500_000 }

/** An instance that dies between claim and admission blocks the key this long. An expired claim is harmless. */
const CLAIM_TTL_MS = 30_000

// Claims a record, or reads it. KEYS 1 record, 2 since when records are kept, 3 mark that some of the account's were
// dropped ARGV 1 fingerprint, 2 call id, 3 ms until an unconfirmed claim expires, 4 ms for which records are kept
// Returns 'first' when claimed; 'unsure' when claimed but Redis may have lost an earlier record; otherwise
// {fingerprint, call id, envelope or nil, ended or nil}
const CLAIM = `
local known = redis.call('HMGET', KEYS[1], 'fingerprint', 'call', 'envelope', 'ended')
if known[1] and known[2] ~= ARGV[2] then return known end
redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'call', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local since = redis.call('GET', KEYS[2])
if not since then
  since = string.format('%.0f', now)
  redis.call('SET', KEYS[2], since)
end
if now - since < tonumber(ARGV[4]) or redis.call('EXISTS', KEYS[3]) == 1 then return 'unsure' end
return 'first'`

// Writes a record unless another call has it. KEYS 1 record   ARGV 1 id of the call that claimed it, 2 fingerprint, 3
// id of its call, 4 envelope, or '' if the call has ended and only its id is known, 5 lifetime ms, 6 account id, 7
// maximum records of an account, 8 of all, 9 prefix of the counts of records, 10 prefix of the marks of dropped records
// Returns nil when written, otherwise {fingerprint, call id, envelope or nil, ended or nil}
const WRITE = `${BOUNDED_ENTRIES}
local record, lifetime = KEYS[1], tonumber(ARGV[5])
local known = redis.call('HMGET', record, 'fingerprint', 'call', 'envelope', 'ended')
if known[1] and known[2] ~= ARGV[1] then return known end
redis.call('HSET', record, 'fingerprint', ARGV[2], 'call', ARGV[3])
if ARGV[4] == '' then redis.call('HSET', record, 'ended', 1) else redis.call('HSET', record, 'envelope', ARGV[4]) end
redis.call('PEXPIRE', record, lifetime)
local _, dropped = count(ARGV[9], record, ARGV[6], 1, lifetime, tonumber(ARGV[7]), tonumber(ARGV[8]))
for _, account in ipairs(dropped) do redis.call('SET', ARGV[10] .. account, 1, 'PX', lifetime) end
return nil`

type Found = [fingerprint: string, callId: CallId, envelope: string | null, ended: string | null]

/** The Idempotency-Keys of accounts, with the call of each. */
export type Idempotency = ReturnType<typeof createIdempotency>

export function createIdempotency(deps: IdempotencyDependencies) {
  const { redis, findSettled, logger, records = RECORDS } = deps
  const claim = defineScript(redis, 'syClaimIdempotency', CLAIM)
  const write = defineScript(redis, 'syWriteIdempotency', WRITE)

  const writeRecord = async (use: KeyUse, callId: CallId, envelope: string) => {
    const keys = keysOf(use.accountId, redis)
    const found = await write(
      [keys.record(use.accountId, use.digest), keys.absent],
      [
        use.callId,
        use.fingerprint,
        callId,
        envelope,
        IDEMPOTENCY_TTL_MS,
        use.accountId,
        records.perAccount,
        Math.floor(records.inAll / redis.shards),
        keys.records,
        keys.dropped,
      ],
    )
    return found === null ? null : readFound(found as Found, use)
  }

  /** Settlement charges a key once, so an unsure claim may run while PostgreSQL is away. */
  const settledBefore = (use: KeyUse): Promise<CallId | null> =>
    findSettled(use.accountId, use.digest).catch((error: unknown) => {
      logger.warn({ err: error, callId: use.callId }, 'idempotency key lookup in postgres failed')
      return null
    })

  return {
    /**
     * Claims a key for a call; null if it is claimed, otherwise its call. A repetition is the same claim. Throws
     * `idempotency_conflict` for another body.
     */
    async claim(use: KeyUse) {
      const keys = keysOf(use.accountId, redis)
      const answer = await claim(
        [keys.record(use.accountId, use.digest), keys.since, `${keys.dropped}${use.accountId}`],
        [use.fingerprint, use.callId, CLAIM_TTL_MS, IDEMPOTENCY_TTL_MS],
      )
      if (answer === 'first') return null
      if (answer !== 'unsure') return readFound(answer as Found, use)
      const settled = await settledBefore(use)
      if (settled === null) return null
      await writeRecord(use, settled, '')
      return { callId: settled, envelope: null, hasEnded: true }
    },
    /**
     * Records that the call is admitted: repeats may wait for it from now on, and find it for a day. If the claim
     * expired and another call has the key by now, nothing changes and that call is returned. Throws
     * `idempotency_conflict` like `claim`.
     */
    confirm: (use: KeyUse, envelope: CallEnvelope) =>
      writeRecord(use, envelope.id, JSON.stringify(responseEnvelope(envelope))),
    /** The current call of a key; null if the key is free. */
    async find(accountId: string, digest: string) {
      const [callId, envelope, ended] = await redisOf(accountId, redis).hmget(
        keysOf(accountId, redis).record(accountId, digest),
        'call',
        'envelope',
        'ended',
      )
      return callId ? readRecord(callId as CallId, envelope ?? null, ended ?? null) : null
    },
  }
}

/** The use of a key by a request that would run as `callId`. */
export const keyUse = (accountId: string, key: string, body: unknown, callId: CallId): KeyUse => ({
  accountId,
  digest: digest(key),
  fingerprint: digest(JSON.stringify(body)),
  callId,
})

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url')

function readFound([fingerprint, callId, envelope, ended]: Found, use: KeyUse): IdempotencyRecord {
  if (fingerprint === use.fingerprint) return readRecord(callId, envelope, ended)
  throw new ApiError(
    'idempotency_conflict',
    'This Idempotency-Key was used with another body. Use a new key.',
    { shouldRetry: false },
  )
}

const readRecord = (callId: CallId, envelope: string | null, ended: string | null): IdempotencyRecord => ({
  callId,
  envelope: envelope === null ? null : (JSON.parse(envelope) as ResponseEnvelope),
  hasEnded: ended !== null,
})

/** The envelope fields that a repeat needs. */
export const responseEnvelope = (envelope: CallEnvelope): ResponseEnvelope => ({
  id: envelope.id,
  accountId: envelope.accountId,
  requestedModel: envelope.requestedModel,
  idempotencyRecord: envelope.idempotencyRecord,
  admittedAt: envelope.admittedAt,
  queueDeadlineAt: envelope.queueDeadlineAt,
  callDeadlineAt: envelope.callDeadlineAt,
  candidates: envelope.candidates.map(({ requestedModel }) => ({ requestedModel })),
  ...(envelope.affordedLimit !== undefined && { affordedLimit: envelope.affordedLimit }),
  ...(envelope.ignoredParameters && { ignoredParameters: envelope.ignoredParameters }),
})

/** The error for a repeat of a call that ended and whose response is no longer kept. */
export const responseNotKept = (callId: CallId): FrameError => ({
  code: 'idempotency_conflict',
  message: `This Idempotency-Key was used for call ${callId}, which has ended and was charged. Its response is no longer kept. Use a new key to send the request again.`,
  shouldRetry: false,
})

/** The call of an account with an Idempotency-Key. */
export interface KeyedCall {
  id: CallId
  accountId: string
  /** Digest of the key. */
  idempotencyRecord: string
}

/** A whole response: the frames of the run that ended the call, from the first. */
interface KeptCompletion extends RunOfCall {
  frames: readonly FrameBody[]
}

/** Stored sizes in bytes: sealed, in base64. */
interface CompletionArchiveLimits extends KeptBounds {
  perAnswer: number
}

// Ends a call with an Idempotency-Key. KEYS 1 record, 2 response   ARGV 1 call id, 2 account id, 3 sealed response or
// '', 4 lifetime ms, 5 maximum bytes of an account, 6 of all, 7 prefix of the counts of responses, 8 of records
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

// Deletes a record if its call has not ended. KEYS 1 record   ARGV 1 call id, 2 prefix of the counts of records
const FORGET = `${BOUNDED_ENTRIES}
local call, ended = unpack(redis.call('HMGET', KEYS[1], 'call', 'ended'))
if call == ARGV[1] and not ended then
  uncount(ARGV[2], KEYS[1])
  redis.call('DEL', KEYS[1])
end`

const keysOf = (accountId: string, sharded: Sharded) => idempotencyKeys(shardOf(accountId, sharded))

/** The keys of a call's record, of its kept response and of their counts. */
function keysOfCall({ id, accountId, idempotencyRecord }: KeyedCall, sharded: Sharded) {
  const { record, answer, ...keys } = keysOf(accountId, sharded)
  return { ...keys, record: record(accountId, idempotencyRecord), answer: answer(id) }
}

// Deletes the kept data of a call, if the record is still of that call. KEYS 1 record, 2 response   ARGV 1 call id, 2
// prefix of the counts of records, 3 of responses
const DISCARD = `${BOUNDED_ENTRIES}
if redis.call('HGET', KEYS[1], 'call') == ARGV[1] then
  uncount(ARGV[2], KEYS[1])
  redis.call('DEL', KEYS[1])
end
uncount(ARGV[3], KEYS[2])
redis.call('DEL', KEYS[2])`

/** Bytes of kept responses; the oldest beyond are evicted. */
export const KEPT_REPLIES = { perAccount: 16 * 1024 * 1024, inAll: 512 * 1024 * 1024 }

/**
 * Responses of calls with an Idempotency-Key, kept sealed for a day so that a repeat gets the same response. The only
 * stored text of calls. Bounded: beyond a maximum, the oldest responses are dropped.
 */
export type CompletionArchive = ReturnType<typeof createCompletionArchive>

export function createCompletionArchive(redis: Redis, sealer: Sealer, limits: CompletionArchiveLimits) {
  const end = defineScript(redis, 'syEndIdempotency', END)
  const forget = defineScript(redis, 'syForgetIdempotency', FORGET)
  return {
    /**
     * Records that the call of a key has ended, and keeps its response. The response is null if it is too long to be
     * kept; it is also dropped if there is no space.
     */
    async end(call: KeyedCall, answer: KeptCompletion | null) {
      const sealed = answer ? sealer.seal(JSON.stringify(answer), call.id) : ''
      const kept = sealed.length <= limits.perAnswer ? sealed : ''
      const keys = keysOfCall(call, redis)
      await end(
        [keys.record, keys.answer, keys.absent],
        [
          call.id,
          call.accountId,
          kept,
          IDEMPOTENCY_TTL_MS,
          limits.perAccount,
          Math.floor(limits.inAll / redis.shards),
          keys.answers,
          keys.records,
        ],
      )
    },
    async read({ id, accountId }: Pick<KeyedCall, 'id' | 'accountId'>) {
      const sealed = await redisOf(accountId, redis).get(keysOf(accountId, redis).answer(id))
      return sealed === null ? null : (JSON.parse(sealer.open(sealed, id)) as KeptCompletion)
    },
    /**
     * Releases the key of a call that did not complete: a repeat runs again. A key of another call, or of one that has
     * ended with a response, is kept.
     */
    async forget(call: KeyedCall) {
      const { record, records, absent } = keysOfCall(call, redis)
      await forget([record, absent], [call.id, records])
    },
  }
}

/**
 * Releases the Idempotency-Key of a call whose charge is credited, and drops its kept response: a repeat runs again,
 * and is charged.
 */
export function createCompletionDiscard(redis: Redis) {
  const discard = defineScript(redis, 'syDiscardIdempotency', DISCARD)
  return async (call: KeyedCall): Promise<void> => {
    const { record, answer, records, answers, absent } = keysOfCall(call, redis)
    await discard([record, answer, absent], [call.id, records, answers])
  }
}
